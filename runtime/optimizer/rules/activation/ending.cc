// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/activation/ending.h"

#include <cmath>
#include <limits>
#include <string>

#include "ops/elementwise/unary.h"
#include "ops/gemm/activation.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

constexpr const char* kActivation = "activation";

// `alpha` and `beta` are written if the activation has such parameters.
Ending Named(Value* x, const ops::NamedActivation& named, double alpha, double beta) {
  Ending ending = {x, {{kActivation, std::string(named.name)}}};
  const int parameters = ops::NumParameters(named.activation);
  if (parameters > 0) ending.attributes[ops::kActivationAlpha] = static_cast<float>(alpha);
  if (parameters > 1) ending.attributes[ops::kActivationBeta] = static_cast<float>(beta);
  return ending;
}

std::optional<Ending> OfFunction(Value* x, ops::UnaryFunction function, double alpha, double beta) {
  for (const ops::NamedActivation& named : ops::kActivations) {
    if (named.activation.function != function) continue;
    if (ops::NumParameters(named.activation) == 0) {
      const double off = std::abs(named.activation.alpha - alpha);
      // Exporters round 1.702 in several ways.
      if (off != 0 && (named.activation.alpha == 1 || off >= 1e-6)) continue;
    }
    return Named(x, named, alpha, beta);
  }
  return std::nullopt;
}

std::optional<Ending> OfUnary(const Node& node) {
  if (!ops::TraitsOf(node).elementwise || node.inputs().size() != 1) return std::nullopt;
  const auto op = ops::OpRegistry::Get().Create(node);
  const auto* const unary = op.ok() ? dynamic_cast<const ops::Unary*>(op->get()) : nullptr;
  if (unary == nullptr) return std::nullopt;
  return OfFunction(node.input(0), unary->function(), unary->parameters().alpha,
                    unary->parameters().beta);
}

std::optional<Ending> OfClip(const Node& clip, Facts& facts) {
  // The bounds that are left out are numbers of this type.
  if (facts.TypeOf(clip.input(0)) != DataType::kFloat) return std::nullopt;
  using Limits = std::numeric_limits<float>;
  const auto bounds = ClipBoundsOf(clip);
  if (!bounds.has_value()) return std::nullopt;
  return OfFunction(clip.input(0), ops::UnaryFunction::kClip,
                    bounds->least.value_or(Limits::lowest()), bounds->most.value_or(Limits::max()));
}

// Max, Min and PRelu of x and a number.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using WithNumber = std::optional<Ending> (*)(Value* x, double number);
constexpr std::pair<absl::string_view, WithNumber> kWithNumber[] = {
    {"Max",
     [](Value* x, double least) {
       return OfFunction(x, ops::UnaryFunction::kClip, least, kInfinity);
     }},
    {"Min", [](Value* x,
               double most) { return OfFunction(x, ops::UnaryFunction::kClip, -kInfinity, most); }},
    {"PRelu", [](Value* x, double slope) {
       return OfFunction(x, ops::UnaryFunction::kLeakyRelu, slope, 0);
     }}};

std::optional<Ending> OfNumber(const Node& node, WithNumber with, Facts& facts) {
  if (facts.TypeOf(node.output(0)) != DataType::kFloat) return std::nullopt;
  for (const auto& [x, other] : ReadingsOf(&node)) {
    const auto number = ScalarOf(other);
    // A number with more axes than x would add axes.
    if (!number.has_value() || facts.RankOf(x) < 0 || std::isnan(*number) ||
        facts.RankOf(x) != facts.RankOf(node.output(0))) {
      continue;
    }
    return with(x, *number);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Ending> EndingOf(const Node* node, Facts& facts) {
  if (node == nullptr || node->input(0) == nullptr) return std::nullopt;
  if (IsOp(node, "Clip")) return OfClip(*node, facts);
  const auto* entry = EntryOf(kWithNumber, node);
  return entry == nullptr ? OfUnary(*node) : OfNumber(*node, entry->second, facts);
}

AttributeMap EndingAttributes(const Node& product) {
  AttributeMap attributes;
  for (const char* name : {kActivation, ops::kActivationAlpha, ops::kActivationBeta}) {
    if (const AttributeValue* value = product.attribute(name)) attributes[name] = *value;
  }
  return attributes;
}

}  // namespace attnrun::opt
