// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/score_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// Called before a bias is added to masked scores. A score of -inf stays so with any bias; a finite
// mask value that absorbs scores may as well be a bias itself. Returns false for other mask values.
bool MasksBecomeBiases(Scores& scores) {
  if (scores.masks.empty() || !std::isfinite(scores.mask_value)) return true;
  if (!Absorbs(scores.mask_value)) return false;
  for (const Scores::Mask& mask : scores.masks) {
    scores.biases.push_back({mask.operand, 1, scores.mask_value, mask.negated});
  }
  scores.masks.clear();
  return true;
}

// IsOrdinary, for values that may share much of what they are computed from.
class Ordinary {
 public:
  Ordinary(double large, Facts& facts) : large_(large), facts_(facts) {}

  bool Holds(const Value* value) {
    if (value == nullptr) return false;
    if (const auto number = UniformOf(value)) return std::abs(*number) < large_;
    if (value->is_constant()) return IsSmall(*value->constant());
    const DataType type = facts_.TypeOf(value);
    // Conditions, positions and lengths.
    if (type == DataType::kBool || IsInteger(type)) return true;
    const Node* node = value->producer();
    // The logarithm of a mask is a mask.
    if (node == nullptr || --left_ < 0 || IsOp(node, "Log")) return false;
    const ops::OpTraits& traits = ops::TraitsOf(*node);
    if (traits.multiplies || traits.bounded) return true;
    if (traits.moves_elements) return Holds(node->input(0));
    if (!traits.elementwise && !traits.assembles) return false;
    return absl::c_all_of(node->inputs(),
                          [&](const Value* input) { return input == nullptr || Holds(input); });
  }

 private:
  bool IsSmall(const Tensor& constant) const {
    constexpr int64_t kMaxElements = 1 << 20;
    if (constant.num_elements() > kMaxElements) return false;
    const auto elements = ToDoubles(constant);
    return elements.ok() &&
           absl::c_all_of(*elements, [&](double element) { return std::abs(element) < large_; });
  }

  const double large_;
  Facts& facts_;
  // The nodes that may still be looked at.
  int left_ = 32;
};

// LeastOf, which looks at `left` more nodes.
std::optional<double> LeastOf(const Value* value, Facts& facts, int& left) {
  if (--left < 0) return std::nullopt;
  if (const auto number = UniformOf(value)) return number;
  const Node* node = value->producer();
  if (IsOp(node, "Where")) {
    const auto chosen = LeastOf(node->input(1), facts, left);
    const auto other = LeastOf(node->input(2), facts, left);
    if (!chosen.has_value() || !other.has_value()) return std::nullopt;
    return std::min(*chosen, *other);
  }
  if (node != nullptr && MovesElements(*node)) return LeastOf(node->input(0), facts, left);
  return IsOrdinary(value, facts) ? std::optional(-kLargeScore) : std::nullopt;
}

}  // namespace

bool IsMaskValue(double number) { return number < std::numeric_limits<double>::infinity(); }

bool Absorbs(double number) { return number <= -1e30; }

bool IsOrdinary(const Value* value, Facts& facts, double large) {
  return Ordinary(large, facts).Holds(value);
}

std::optional<double> LeastOf(const Value* value, Facts& facts) {
  int left = 32;
  return LeastOf(value, facts, left);
}

bool IsOneOrZero(const Value* value, Facts& facts) {
  constexpr int64_t kMaxElements = 1 << 24;
  const Node* node = value->producer();
  // The triangle of a matrix has elements of it and 0.
  for (int i = 0; i < 8 && node != nullptr && (MovesElements(*node) || IsOp(node, "Trilu")); ++i) {
    value = node->input(0);
    node = value->producer();
  }
  if (ConditionOf(value, facts) != nullptr) return true;
  const auto is_either = [](double x) { return x == 0 || x == 1; };
  if (const auto number = UniformOf(value)) return is_either(*number);
  if (!value->is_constant() || value->constant()->num_elements() > kMaxElements) return false;
  const auto elements = ToDoubles(*value->constant());
  return elements.ok() && absl::c_all_of(*elements, is_either);
}

bool ScaleScores(Scores& scores, double factor) {
  if (scores.softcap != 0 || (scores.floored > 0 && factor <= 0)) return false;
  if (!scores.masks.empty()) scores.mask_value *= factor;
  if (!IsMaskValue(scores.mask_value)) return false;
  for (ScoreBias& bias : scores.biases) bias.factor *= factor;
  scores.floor *= factor;
  scores.scale *= factor;
  return true;
}

bool CapScores(Scores& scores, double cap) {
  if (scores.softcap != 0 || !scores.biases.empty() || !scores.masks.empty() || cap <= 0 ||
      scores.shifted) {
    return false;
  }
  scores.softcap = cap;
  scores.scale *= cap;
  return true;
}

bool MaskScores(Scores& scores, Scores::Mask mask, double number, const Node& where,
                std::string& why) {
  if (!scores.masks.empty() && scores.mask_value != number) {
    why = absl::StrCat(where.description(), " masks with ", number,
                       " scores that are already masked with ", scores.mask_value);
    return false;
  }
  if (scores.biases_last || (scores.shifted && !Absorbs(number))) return false;
  scores.mask_value = number;
  scores.masks.push_back(std::move(mask));
  return true;
}

bool KeepScores(Scores& scores, ScoreTerm kept, Facts& facts) {
  // 0 times a bias of -inf is NaN.
  const auto may_mask = [&](const ScoreBias& bias) {
    return bias.mask_value.has_value() || !IsOrdinary(bias.operand.value, facts);
  };
  if (!scores.masks.empty() || scores.shifted || scores.biases_last || scores.floored > 0) {
    return false;
  }
  if (absl::c_any_of(scores.biases, may_mask)) return false;
  scores.mask_value = 0;
  scores.masks.push_back({std::move(kept), false, true});
  return true;
}

bool AddsMaskValue(Scores& scores, const Value* term, double sign) {
  double number = 0;
  const Node* product = term->producer();
  const bool masked = scores.masks.size() == 1 && scores.masks[0].is_number;
  if (!masked || scores.biases_last || product == nullptr) return false;
  const Value* inverse = ScaledOperand(*product, number);
  const Node* difference = ProducerOf(inverse, "Sub");
  if (difference == nullptr || UniformOf(difference->input(0)) != 1.0 ||
      difference->input(1) != scores.masks[0].operand.value) {
    return false;
  }
  scores.mask_value += sign * number;
  return std::isfinite(scores.mask_value);
}

bool FloorScores(Scores& scores, double floor) {
  if (scores.shifted || scores.floored > 0 || scores.biases_last) return false;
  scores.mask_value = std::max(scores.mask_value, floor);
  scores.floored = scores.biases.size();
  scores.floor = floor;
  return true;
}

bool TakesBias(Scores& scores, const Node& sum, std::string& why) {
  if (MasksBecomeBiases(scores)) return true;
  if (scores.biases_last || (scores.biases.empty() && scores.floored == 0)) {
    scores.biases_last = true;
    return true;
  }
  why = absl::StrCat(sum.description(), " adds to scores that are already masked by ",
                     scores.mask_value);
  return false;
}

}  // namespace attnrun::opt
