// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/trace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "core/hash_map.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// How one node moves the elements of its first input.
class Step {
 public:
  Step(const Node& node, const Value& output, Facts& facts)
      : node_(node), output_(output), facts_(facts), move_(MoveOf(node)) {
    if (move_ == &Step::Slice) cut_ = ReadCut();
  }

  std::optional<View> Apply(const View& view) const {
    return move_ == nullptr ? std::nullopt : (this->*move_)(view);
  }

 private:
  using Move = std::optional<View> (Step::*)(const View&) const;

  // The inputs and attributes of a Slice, one number for each axis that it cuts.
  struct Cut {
    std::vector<SymInt> starts;
    std::vector<int64_t> axes;
    std::vector<int64_t> steps;
  };

  static Move MoveOf(const Node& node) {
    static constexpr std::pair<absl::string_view, Move> kMoves[] = {{"Transpose", &Step::Transpose},
                                                                    {"Slice", &Step::Slice},
                                                                    {"Split", &Step::Split},
                                                                    {"Gather", &Step::Gather},
                                                                    {"GatherND", &Step::GatherND},
                                                                    {"Expand", &Step::Expand},
                                                                    {"Tile", &Step::Tile}};
    if (ops::TraitsOf(node).keeps_order) return &Step::Reshape;
    const auto* move = EntryOf(kMoves, &node);
    return move == nullptr ? nullptr : move->second;
  }

  std::optional<View> Transpose(const View& view) const {
    const auto permutation = PermutationOf(node_, view.rank());
    return permutation.has_value() ? std::optional(view.Transposed(*permutation)) : std::nullopt;
  }

  // The elements keep their order.
  std::optional<View> Reshape(const View& view) const {
    const std::vector<SymInt>* dims = facts_.DimsOf(&output_);
    if (dims == nullptr) return std::nullopt;
    return view.Reshaped(*dims);
  }

  std::optional<Cut> ReadCut() const {
    auto starts = SliceStarts();
    auto axes = SliceAxes(starts.has_value() ? starts->size() : 0);
    auto steps = KnownInts(node_, "steps", 4, facts_);
    if (!starts.has_value() || !axes.has_value()) return std::nullopt;
    if (!steps.has_value() && node_.input(4) == nullptr) steps.emplace(axes->size(), 1);
    if (!steps.has_value() || steps->size() != axes->size()) return std::nullopt;
    return Cut{*std::move(starts), *std::move(axes), *std::move(steps)};
  }

  std::optional<View> Slice(const View& view) const {
    const std::vector<SymInt>* dims = facts_.DimsOf(&output_);
    if (!cut_.has_value() || dims == nullptr) return std::nullopt;
    std::optional<View> result = view;
    for (size_t i = 0; i < cut_->axes.size() && result.has_value(); ++i) {
      const auto axis = ops::KnownAxis(cut_->axes[i], view.rank());
      const int64_t step = cut_->steps[i];
      if (!axis.has_value() || step < 1) return std::nullopt;
      const auto from = Clamped(cut_->starts[i], view.Extent(*axis));
      if (!from.has_value()) return std::nullopt;
      result = result->Sliced(*axis, *from, (*dims)[*axis], step);
    }
    return result;
  }

  std::optional<std::vector<SymInt>> SliceStarts() const {
    if (const auto known = KnownInts(node_, "starts", 1, facts_)) {
      return std::vector<SymInt>(known->begin(), known->end());
    }
    const Value* starts = node_.input(1);
    return starts == nullptr ? std::nullopt : facts_.Of(starts).contents;
  }

  // Where a Slice begins that asks for `wanted`; nullopt if the axis may be too short for it.
  std::optional<SymInt> Clamped(const SymInt& wanted, const SymInt& extent) const {
    const std::optional<int64_t> known = wanted.constant();
    const std::optional<int64_t> number = extent.constant();
    if (known.has_value() && number.has_value()) {
      return SymInt(std::clamp<int64_t>(*known < 0 ? *known + *number : *known, 0, *number));
    }
    // The start is at or before the first element, as in x[-n:] of n elements.
    if (facts_.IsNeverNegative(SymInt(0) - extent - wanted)) return SymInt(0);
    if (!known.has_value()) {
      const bool fits = facts_.IsNeverNegative(wanted) && facts_.IsNeverNegative(extent - wanted);
      return fits ? std::optional(wanted) : std::nullopt;
    }
    const int64_t start = *known;
    if (start == 0) return SymInt(0);
    const SymInt from = start < 0 ? extent + SymInt(start) : SymInt(start);
    const SymInt rest = start < 0 ? from : extent - from;
    return facts_.IsNeverNegative(rest) ? std::optional(from) : std::nullopt;
  }

  std::optional<std::vector<int64_t>> SliceAxes(size_t count) const {
    if (node_.attribute("axes") != nullptr || node_.input(3) != nullptr) {
      auto axes = KnownInts(node_, "axes", 3, facts_);
      if (!axes.has_value() || axes->size() != count) return std::nullopt;
      return axes;
    }
    std::vector<int64_t> axes(count);
    for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
    return axes;
  }

  std::optional<View> Split(const View& view) const {
    const auto axis = AxisOf(node_, view.rank());
    // Each output adds up the extents before it.
    constexpr int kMaxBefore = 1024;
    if (!axis.has_value() || output_.producer_index() > kMaxBefore) return std::nullopt;
    SymInt start(0);
    for (int i = 0; i < output_.producer_index(); ++i) {
      const std::vector<SymInt>* dims =
          node_.output(i) == nullptr ? nullptr : facts_.DimsOf(node_.output(i));
      if (dims == nullptr) return std::nullopt;
      start = start + (*dims)[*axis];
    }
    const std::vector<SymInt>* dims = facts_.DimsOf(&output_);
    if (dims == nullptr) return std::nullopt;
    return view.Sliced(*axis, start, (*dims)[*axis]);
  }

  // A Gather of one position of an axis, which the output keeps if the index has rank 1, or of
  // evenly spaced positions.
  std::optional<View> Gather(const View& view) const {
    const auto axis = AxisOf(node_, view.rank());
    const auto index = KnownInt(node_.input(1), facts_);
    const int index_rank = facts_.RankOf(node_.input(1));
    if (!axis.has_value()) return std::nullopt;
    if (!index.has_value()) {
      const auto positions = PositionsOf(IndicesOf(view.Extent(*axis)), facts_);
      return positions.has_value() ? Gathered(view, *axis, {*positions}) : std::nullopt;
    }
    int64_t at = *index;
    if (at < 0) {
      const auto extent = view.Extent(*axis).constant();
      if (!extent.has_value()) return std::nullopt;
      at += *extent;
    }
    auto slice = view.Sliced(*axis, at, 1);
    if (!slice.has_value() || index_rank == 1) return slice;
    return slice->Squeezed(*axis);
  }

  // The indices of a Gather along an axis of this extent, before a Cast to int32. Those that wrap
  // around count from 2^31 on, beyond the axis.
  Value* IndicesOf(const SymInt& extent) const {
    Value* indices = node_.input(1);
    const Node* cast = ProducerOf(indices, "Cast");
    const bool narrows = cast != nullptr && facts_.TypeOf(indices) == DataType::kInt32 &&
                         facts_.TypeOf(cast->input(0)) == DataType::kInt64 &&
                         extent.constant().value_or(INT64_MAX) < INT32_MAX;
    return narrows ? cast->input(0) : indices;
  }

  std::optional<View> GatherND(const View& view) const {
    if (AttributeOr<int64_t>(node_, "batch_dims", 0) != 0) return std::nullopt;
    const auto positions = TuplePositionsOf(node_.input(1), facts_);
    return positions.has_value() ? Gathered(view, 0, *positions) : std::nullopt;
  }

  std::optional<View> Gathered(const View& view, int first, std::vector<View> positions) const {
    for (int i = 0; i < static_cast<int>(positions.size()); ++i) {
      if (first + i < view.rank())
        positions[i] = FromTheStart(positions[i], view.Extent(first + i));
      if (!AreNeverNegative(positions[i])) return std::nullopt;
    }
    return view.Gathered(first, positions);
  }

  // One index; a negative one counts from the end.
  static View FromTheStart(const View& index, const SymInt& extent) {
    const auto at = index.offset().constant();
    const bool single = absl::c_all_of(index.axes(), [](const ViewAxis& a) { return a.empty(); });
    if (!single || !at.has_value() || *at >= 0) return index;
    const std::vector<SymInt> steps(index.rank(), 0);
    return View::Counting(extent + *at, index.Dims(), steps);
  }

  // Lists of indices some of which may be negative are not followed.
  bool AreNeverNegative(const View& indices) const {
    if (!facts_.IsNeverNegative(indices.offset())) return false;
    return absl::c_all_of(indices.axes(), [&](const ViewAxis& axis) {
      return absl::c_all_of(
          axis, [&](const ViewFactor& factor) { return facts_.IsNeverNegative(factor.stride); });
    });
  }

  std::optional<View> Expand(const View& view) const {
    const std::vector<SymInt>* dims = facts_.DimsOf(&output_);
    return dims == nullptr ? std::nullopt : view.Expanded(*dims);
  }

  std::optional<View> Tile(const View& view) const {
    const auto& repeats = facts_.Of(node_.input(1)).contents;
    if (!repeats.has_value() || static_cast<int>(repeats->size()) != view.rank()) {
      return std::nullopt;
    }
    View result = view;
    for (int i = 0; i < view.rank(); ++i) {
      if (!(*repeats)[i].is_constant(1)) result = result.Tiled(i, (*repeats)[i]);
    }
    return result;
  }

  const Node& node_;
  const Value& output_;
  Facts& facts_;
  const Move move_;
  // The inputs of a Slice, if they are known.
  std::optional<Cut> cut_;
};

std::vector<Traced> TraceTo(Value* value, Facts& facts, Follow follow, int depth);

// A Concat whose inputs are views of one base, each continuing the one before it.
std::vector<Traced> TraceConcat(const Node& node, Facts& facts, Follow follow) {
  std::vector<std::vector<Traced>> inputs;
  for (Value* input : node.inputs()) {
    inputs.push_back(TraceTo(input, facts, follow, kMaxConcatDepth));
    if (inputs.back().empty()) return {};
  }
  std::vector<Traced> result;
  for (const Traced& first : inputs[0]) {
    const auto axis = AxisOf(node, first.view.rank());
    if (!axis.has_value()) return {};
    std::vector<View> views;
    for (const std::vector<Traced>& candidates : inputs) {
      const auto same = absl::c_find_if(candidates, [&](const Traced& candidate) {
        return candidate.base == first.base && candidate.scale == first.scale;
      });
      if (same != candidates.end()) views.push_back(same->view);
    }
    if (views.size() != inputs.size()) continue;
    if (auto view = View::Concatenated(views, *axis)) {
      result.push_back({first.base, *std::move(view), first.scale});
    }
  }
  return result;
}

// Adds the value, which is computed by a node that only moves elements, to the trace of that node's
// first input.
void AppendMoved(Value* value, absl::Span<const Traced> above, Facts& facts,
                 std::vector<Traced>& result) {
  const Step step(*value->producer(), *value, facts);
  for (const Traced& traced : above) {
    auto view = step.Apply(traced.view);
    if (view.has_value()) result.push_back({traced.base, *std::move(view), traced.scale});
  }
}

std::vector<Traced> TraceTo(Value* value, Facts& facts, Follow follow, int depth) {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts.DimsOf(value);
  if (dims == nullptr) return {};
  std::vector<Traced> result = {{value, View::Dense(*dims), 1}};
  const Node* node = value->producer();
  if (node == nullptr || !node->domain().empty() || depth == 0) return result;
  double factor = 1;
  Value* scaled = follow.factors ? ScaledOperand(*node, factor) : nullptr;
  if (scaled != nullptr) {
    if (facts.RankOf(scaled) != static_cast<int>(dims->size())) return result;
    for (Traced& traced : TraceTo(scaled, facts, follow, depth - 1)) {
      traced.scale *= factor;
      result.push_back(std::move(traced));
    }
  } else if (follow.widening && IsWidening(*node, facts)) {
    const auto narrow = TraceTo(node->input(0), facts, follow, depth - 1);
    result.insert(result.end(), narrow.begin(), narrow.end());
  } else if (node->op_type() == "Concat" && depth > kMaxConcatDepth) {
    const auto views = TraceConcat(*node, facts, follow);
    result.insert(result.end(), views.begin(), views.end());
  } else if (MovesElements(*node)) {
    AppendMoved(value, TraceTo(node->input(0), facts, follow, depth - 1), facts, result);
  }
  return result;
}

}  // namespace

std::vector<Traced> Trace(Value* value, Facts& facts, Follow follow) {
  return TraceTo(value, facts, follow, kMaxTraceDepth);
}

std::vector<Traced> ExtendedTrace(Value* value, absl::Span<const Traced> above, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  if (dims == nullptr) return {};
  std::vector<Traced> result = {{value, View::Dense(*dims), 1}};
  AppendMoved(value, above.first(std::min<size_t>(above.size(), kMaxTraceDepth)), facts, result);
  return result;
}

std::optional<View> ApplyViewNode(const Node& node, const Value& output, const View& view,
                                  Facts& facts) {
  return Step(node, output, facts).Apply(view);
}

std::optional<Columns> ColumnsOf(Value* value, Facts& facts) {
  const std::vector<Traced> chain = Trace(value, facts);
  for (size_t i = chain.size(); i-- > 1;) {
    const View base = View::Dense(*facts.DimsOf(chain[i].base));
    const View& view = chain[i].view;
    const int last = view.rank() - 1;
    if (view.rank() != base.rank() || last < 0 || view.axes()[last].size() > 1) continue;
    // A single column has no step.
    const ViewAxis& axis = view.axes()[last];
    const auto step = axis.empty() ? 1 : axis[0].stride.constant();
    const auto first = view.offset().constant();
    const auto width = view.Extent(last).constant();
    const auto whole = base.Extent(last).constant();
    if (!first.has_value() || !width.has_value() || step.value_or(0) < 1) continue;
    if (*width < 1 || whole.value_or(*width) == *width) continue;
    if (base.Sliced(last, *first, *width, *step) != view) continue;
    return Columns{chain[i].base, *first, *step, *width};
  }
  return std::nullopt;
}

Value* BeforeCasts(Value* value) {
  while (const Node* cast = ProducerOf(value, "Cast")) value = cast->input(0);
  return value;
}

Value* ConditionOf(const Value* value, Facts& facts) {
  const Node* cast = ProducerOf(value, "Cast");
  return cast != nullptr && facts.TypeOf(cast->input(0)) == DataType::kBool ? cast->input(0)
                                                                            : nullptr;
}

bool IsWidening(const Node& node, Facts& facts) {
  if (node.op_type() != "Cast" || facts.TypeOf(node.output(0)) != DataType::kFloat) return false;
  const DataType from = facts.TypeOf(node.input(0));
  return from == DataType::kFloat16 || from == DataType::kBfloat16;
}

bool DependsOn(const Value& value, const Node& node) {
  HashSet<const Value*> seen;
  std::vector<const Value*> open = {&value};
  while (!open.empty()) {
    const Node* producer = open.back()->producer();
    open.pop_back();
    if (producer == &node) return true;
    if (producer == nullptr) continue;
    for (const auto* slots : {&producer->inputs(), &producer->implicit_inputs()}) {
      for (const Value* input : *slots) {
        if (input != nullptr && seen.insert(input).second) open.push_back(input);
      }
    }
  }
  return false;
}

bool MovesElements(const Node& node) { return ops::TraitsOf(node).moves_elements; }

Value* ScaledOperand(const Node& node, double& factor) {
  for (const auto& [scaled, by] : ScalingsOf(&node)) {
    const auto scalar = ScalarOf(by);
    if (!scalar.has_value()) continue;
    factor = IsDivOrSub(&node) ? 1 / *scalar : *scalar;
    // Infinite factors do not commute with sums.
    return std::isfinite(factor) ? scaled : nullptr;
  }
  return nullptr;
}

}  // namespace attnrun::opt
