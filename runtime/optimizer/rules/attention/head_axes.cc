// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/head_axes.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"

namespace attnrun::opt {
namespace {

// In the order that attnrun.Attention gives the axes. A shared head is one of several that read
// the same K.
enum class Role { kBatch, kHead, kSharedHead, kQuery, kKey };
// The axis of each role in [B, N, S, T].
constexpr size_t kAxisOf[] = {0, 1, 1, 2, 3};

// An axis of the product, or a part of one.
struct Part {
  SymInt size;
  Role role = Role::kBatch;
};

// True if `a` steps over fewer elements than `b`.
bool IsFiner(const ViewAxis& a, const ViewAxis& b) {
  if (a.empty() || b.empty()) return false;
  const auto ratio = SymInt::DivideExactly(b.back().stride, a.back().stride);
  return ratio.has_value() && !ratio->is_constant(1) && !ratio->is_constant(0);
}

// The furthest view of an operand of a product that has the operand's axes; nullopt if its rank is
// not known.
std::optional<View> FurthestView(Value* operand, Facts& facts) {
  std::optional<View> furthest;
  for (const Traced& traced : Trace(operand, facts, {.factors = true})) {
    if (traced.view.rank() == facts.RankOf(operand)) furthest = traced.view;
  }
  return furthest;
}

// The two factors into which `view` splits an axis of the product, the outer one first; nullopt if
// it does not split it so.
std::optional<std::pair<ViewFactor, ViewFactor>> Halves(const View& view, const ViewAxis& axis) {
  if (axis.size() != 1) return std::nullopt;
  for (const ViewAxis& outer : view.axes()) {
    for (const ViewAxis& inner : view.axes()) {
      if (outer.size() != 1 || inner.size() != 1) continue;
      if (inner[0].stride != axis[0].stride) continue;
      if (outer[0].stride != inner[0].stride * inner[0].size) continue;
      if (outer[0].size * inner[0].size == axis[0].size) return std::pair(outer[0], inner[0]);
    }
  }
  return std::nullopt;
}

class RoleFinder {
 public:
  RoleFinder(const Scores& scores, const Probabilities& probabilities, Facts& facts)
      : scores_(scores),
        probabilities_(probabilities),
        facts_(facts),
        leading_(static_cast<int>(scores.matmul_dims.size()) - 2),
        product_(View::Dense(scores.matmul_dims)),
        q_(FurthestView(scores.q(), facts)),
        parts_(scores.matmul_dims.size()) {}

  std::optional<HeadAxes> Find() {
    for (int axis = 0; axis < leading_; ++axis) parts_[axis] = {{Extent(axis), Role::kBatch}};
    parts_[scores_.queries_axis()] = {{Extent(scores_.queries_axis()), Role::kQuery}};
    SplitKeys();
    if (leading_ == 1) SplitFolded();
    if (leading_ == 2) ChooseOfTwo();
    if (leading_ > 2) ChooseOfMany();
    SplitQueries();
    ExchangeQueries();
    MarkShared();
    return Arranged();
  }

 private:
  const SymInt& Extent(int axis) const { return scores_.matmul_dims[axis]; }

  // True if Q steps over fewer elements along this leading axis than from position to position.
  bool IsWithinRows(int axis) const {
    if (!q_.has_value() || q_->rank() != leading_ + 2) return false;
    const int positions = leading_ + (scores_.keys_are_rows() ? 1 : 0);
    return IsFiner(q_->axes()[axis], q_->axes()[positions]);
  }

  // The columns of the product may hold samples beside the keys, if all samples have the same
  // queries, such as learned ones.
  void SplitKeys() {
    std::vector<Part>& parts = parts_[scores_.keys_axis];
    const ViewAxis& axis = product_.axes()[scores_.keys_axis];
    const auto split = SplitAround(axis, probabilities_.keys);
    if (!split.has_value() || axis == probabilities_.keys) {
      parts = {{Extent(scores_.keys_axis), Role::kKey}};
      return;
    }
    const auto& [outside, keys, inside] = *split;
    parts = {{outside, Role::kBatch}, {keys, Role::kKey}, {inside, Role::kBatch}};
  }

  // One leading axis, which may hold samples and heads.
  void SplitFolded() {
    std::vector<Part>& parts = parts_[0];
    const bool traced = q_.has_value() && q_->rank() == leading_ + 2;
    if (traced && q_->axes()[0].size() == 2) {
      const SymInt& inner = q_->axes()[0][1].size;
      const auto outer = SymInt::DivideExactly(Extent(0), inner);
      if (outer.has_value()) parts = Folded(*outer, inner);
    } else if (IsWithinRows(0) || parts_[scores_.keys_axis].size() > 1) {
      parts[0].role = Role::kHead;
    }
    for (const View* view : {&scores_.view, &probabilities_.view}) {
      const auto halves = Halves(*view, product_.axes()[0]);
      if (halves.has_value()) parts = Folded(halves->first.size, halves->second.size);
    }
    const bool fixed = absl::c_all_of(parts, [](const Part& part) {
      return part.role != Role::kHead || part.size.constant().has_value();
    });
    if (!fixed) SplitFixedNumber(parts);
  }

  // Samples and heads in one axis. An extent that varies from run to run is the number of samples.
  static std::vector<Part> Folded(const SymInt& outer, const SymInt& inner) {
    const bool heads_first = outer.constant().has_value() && !inner.constant().has_value();
    return {{outer, heads_first ? Role::kHead : Role::kBatch},
            {inner, heads_first ? Role::kBatch : Role::kHead}};
  }

  // Splits a folded axis by the largest number of heads that divides its extent in every run.
  void SplitFixedNumber(std::vector<Part>& parts) const {
    constexpr int64_t kMostHeads = 256;
    for (int64_t heads = kMostHeads; heads >= 1; --heads) {
      const auto batch = SymInt::DivideExactly(Extent(0), SymInt(heads));
      if (!batch.has_value()) continue;
      parts = {{*batch, Role::kBatch}, {SymInt(heads), Role::kHead}};
      return;
    }
  }

  void ChooseOfTwo() {
    bool heads_first = IsWithinRows(0) && !IsWithinRows(1);
    // Strides alone may mislead where samples are the inner axis. An extent that varies from run to
    // run is the number of samples; a fixed one is the number of heads.
    const bool fixed = Extent(0).constant().has_value();
    if (fixed != Extent(1).constant().has_value()) heads_first = fixed;
    parts_[heads_first ? 0 : 1][0].role = Role::kHead;
  }

  void ChooseOfMany() {
    bool found = false;
    for (int axis = 0; axis < leading_; ++axis) {
      const bool is_heads = Extent(axis).constant().has_value() && IsWithinRows(axis);
      if (is_heads) parts_[axis][0].role = Role::kHead;
      found = found || is_heads;
    }
    if (!found || Extent(leading_ - 1).constant().has_value()) {
      parts_[leading_ - 1][0].role = Role::kHead;
    }
  }

  // The rows of the product may hold heads that share K besides the queries.
  void SplitQueries() {
    const int axis = scores_.queries_axis();
    const auto halves = Halves(scores_.view, product_.axes()[axis]);
    if (!halves.has_value()) return;
    const auto& [outer, inner] = *halves;
    const bool fixed = outer.size.constant().has_value();
    // Two axes of positions, as those of an image, both vary or are both fixed.
    if (fixed == inner.size.constant().has_value()) return;
    parts_[axis] = {{outer.size, fixed ? Role::kSharedHead : Role::kQuery},
                    {inner.size, fixed ? Role::kQuery : Role::kSharedHead}};
  }

  // If K and V are the same along a leading axis that varies, while the rows have a fixed extent,
  // the axis has the queries and the rows are heads.
  void ExchangeQueries() {
    std::vector<Part>& rows = parts_[scores_.queries_axis()];
    if (leading_ < 2 || rows.size() != 1 || !rows[0].size.constant().has_value()) return;
    for (int axis = 0; axis < leading_; ++axis) {
      if (parts_[axis].size() != 1 || Extent(axis).constant().has_value()) continue;
      if (!IsShared(scores_.k(), axis) || !ValuesAreSharedAlong(axis)) continue;
      // The samples must be left.
      if (parts_[axis][0].role == Role::kBatch && BatchAxes() < 2) continue;
      for (int other = 0; other < leading_; ++other) {
        if (parts_[other][0].role == Role::kHead && !Extent(other).constant().has_value()) {
          parts_[other][0].role = Role::kBatch;
        }
      }
      parts_[axis][0].role = Role::kQuery;
      rows[0].role = Role::kSharedHead;
      return;
    }
  }

  int BatchAxes() const {
    int count = 0;
    for (int axis = 0; axis < leading_; ++axis) {
      count += absl::c_count_if(parts_[axis], [](const Part& p) { return p.role == Role::kBatch; });
    }
    return count;
  }

  // True if an operand of the product is the same along a leading axis of it.
  bool IsShared(Value* operand, int axis) const {
    const std::vector<SymInt>* dims = facts_.DimsOf(operand);
    if (dims == nullptr || Extent(axis).is_constant(1)) return false;
    const int of_operand = axis - (leading_ + 2 - static_cast<int>(dims->size()));
    if (of_operand < 0 || (*dims)[of_operand].is_constant(1)) return true;
    const auto view = FurthestView(operand, facts_);
    return view.has_value() && absl::c_all_of(view->axes()[of_operand], [](const ViewFactor& f) {
             return f.stride.is_constant(0);
           });
  }

  bool ValuesAreSharedAlong(int axis) const {
    const View& view = probabilities_.view;
    const auto at = absl::c_find(view.axes(), product_.axes()[axis]) - view.axes().begin();
    const std::vector<SymInt>* dims = facts_.DimsOf(probabilities_.values_operand());
    if (at == view.rank() || dims == nullptr) return false;
    const auto of_values = at - (view.rank() - static_cast<std::ptrdiff_t>(dims->size()));
    return of_values < 0 || (*dims)[of_values].is_constant(1);
  }

  // Heads that share a head of K come after the heads of K.
  void MarkShared() {
    for (int axis = 0; axis < leading_; ++axis) {
      if (!IsShared(scores_.k(), axis)) continue;
      for (Part& part : parts_[axis]) {
        if (part.role == Role::kHead) part.role = Role::kSharedHead;
      }
    }
  }

  std::optional<HeadAxes> Arranged() const {
    std::vector<SymInt> split;
    std::vector<Role> roles;
    for (const std::vector<Part>& parts : parts_) {
      for (const Part& part : parts) {
        split.push_back(part.size);
        roles.push_back(part.role);
      }
    }
    std::vector<int64_t> order(roles.size());
    absl::c_iota(order, 0);
    absl::c_stable_sort(order, [&](int64_t a, int64_t b) { return roles[a] < roles[b]; });
    std::vector<SymInt> dims(4, SymInt(1));
    for (size_t i = 0; i < roles.size(); ++i) {
      SymInt& dim = dims[kAxisOf[static_cast<size_t>(roles[i])]];
      dim = dim * split[i];
    }
    const auto whole = product_.Reshaped(split);
    const auto view = whole.has_value() ? whole->Transposed(order).Reshaped(dims) : std::nullopt;
    if (!view.has_value()) return std::nullopt;
    return HeadAxes{*view, dims[0], dims[1]};
  }

  const Scores& scores_;
  const Probabilities& probabilities_;
  Facts& facts_;
  const int leading_;
  const View product_;
  const std::optional<View> q_;
  // For each axis of the product.
  std::vector<std::vector<Part>> parts_;
};

}  // namespace

std::optional<HeadAxes> FindHeadAxes(const Scores& scores, const Probabilities& probabilities,
                                     Facts& facts) {
  return RoleFinder(scores, probabilities, facts).Find();
}

}  // namespace attnrun::opt
