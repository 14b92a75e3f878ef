// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/positions.h"

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// A longer table is no list of positions, and neither is one that holds larger numbers.
constexpr int64_t kLongestTable = 1 << 16;
constexpr int64_t kLargestNumber = int64_t{1} << 32;

struct Steps {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// Appends the steps by which `count` numbers, `apart` places from each other, may count. The
// longest evenly spaced run at their start is the innermost step; outer steps count over the first
// numbers of such runs: 0 0 0 2 2 2 is two steps of 2, each of three steps of 0. The caller checks
// that all numbers follow these steps.
void AppendSteps(absl::Span<const int64_t> numbers, int64_t apart, int64_t count, Steps& steps) {
  Steps found;
  while (count > 1) {
    const int64_t stride = numbers[apart] - numbers[0];
    int64_t run = 2;
    while (run < count && numbers[run * apart] - numbers[0] == run * stride) ++run;
    while (count % run != 0) --run;
    if (run == 1) run = count;
    found.sizes.push_back(run);
    found.strides.push_back(stride);
    apart *= run;
    count /= run;
  }
  steps.sizes.insert(steps.sizes.end(), found.sizes.rbegin(), found.sizes.rend());
  steps.strides.insert(steps.strides.end(), found.strides.rbegin(), found.strides.rend());
}

// The number at index `i` of all steps.
int64_t Counted(const Steps& steps, int64_t i) {
  int64_t sum = 0;
  for (size_t k = steps.sizes.size(); k-- > 0;) {
    sum += i % steps.sizes[k] * steps.strides[k];
    i /= steps.sizes[k];
  }
  return sum;
}

// A constant table as a view whose places are its numbers; nullopt if they do not count evenly.
std::optional<View> CountingTable(absl::Span<const int64_t> numbers, const Shape& shape) {
  if (numbers.empty()) return std::nullopt;
  for (const int64_t number : numbers) {
    if (number < -kLargestNumber || number > kLargestNumber) return std::nullopt;
  }
  Steps steps;
  int64_t apart = static_cast<int64_t>(numbers.size());
  for (const int64_t extent : shape) {
    apart /= extent;
    AppendSteps(numbers, apart, extent, steps);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[0] + Counted(steps, static_cast<int64_t>(i))) return std::nullopt;
  }
  const std::vector<SymInt> sizes(steps.sizes.begin(), steps.sizes.end());
  const std::vector<SymInt> strides(steps.strides.begin(), steps.strides.end());
  return View::Counting(numbers[0], sizes, strides)
      .Reshaped(std::vector<SymInt>(shape.begin(), shape.end()));
}

// Walks from a value towards the ranges and tables that it is computed from.
class PositionReader {
 public:
  explicit PositionReader(Facts& facts) : facts_(facts) {}

  std::optional<View> Read(Value* value) {
    const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts_.DimsOf(value);
    if (dims == nullptr || !IsInteger(facts_.TypeOf(value))) return std::nullopt;
    // Both operands of every sum are followed, so the number of visits must be limited.
    if (--visits_left_ < 0) return std::nullopt;
    if (value->is_constant()) return Table(*value->constant());
    const std::vector<SymInt> extents = *dims;
    if (auto known = Known(value, extents)) return known;
    const Node* node = value->producer();
    if (node == nullptr || !node->domain().empty()) return std::nullopt;
    const std::string& op = node->op_type();
    if (op == "Range") return Range(*node, extents);
    // Sums in 32 bits might wrap around.
    if (facts_.TypeOf(value) != DataType::kInt64 && !MovesElements(*node)) return std::nullopt;
    if (op == "Add") return Sum(*node, extents, 1);
    if (op == "Sub") return Sum(*node, extents, -1);
    if (op == "Mul") return Scaled(*node, extents);
    if (op == "Cast") return Widened(*node, *value);
    if (!MovesElements(*node) || ReadsIndices(*node)) return std::nullopt;
    const auto inner = Read(node->input(0));
    return inner.has_value() ? ApplyViewNode(*node, *value, *inner, facts_) : std::nullopt;
  }

 private:
  static std::optional<View> Table(const Tensor& table) {
    if (table.num_elements() == 0 || table.num_elements() > kLongestTable) return std::nullopt;
    const auto numbers = ToInts(table);
    return numbers.ok() ? CountingTable(*numbers, table.shape()) : std::nullopt;
  }

  // A number that is known or depends on extents alone, as a view of that one place.
  std::optional<View> Known(const Value* value, const std::vector<SymInt>& dims) {
    const auto number = Number(value);
    if (!number.has_value()) return std::nullopt;
    return View::Counting(*number, dims, std::vector<SymInt>(dims.size(), 0));
  }

  std::optional<View> Range(const Node& node, const std::vector<SymInt>& dims) {
    const auto start = Number(node.input(0));
    const auto step = Number(node.input(2));
    if (!start.has_value() || !step.has_value()) return std::nullopt;
    return View::Counting(*start, dims, {*step});
  }

  std::optional<SymInt> Number(const Value* value) { return facts_.Of(value).OnlyElement(); }

  std::optional<View> Sum(const Node& node, const std::vector<SymInt>& dims, int64_t sign) {
    const auto a = Expanded(node.input(0), dims);
    const auto b = Expanded(node.input(1), dims);
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    return View::Sum(*a, b->Scaled(sign));
  }

  std::optional<View> Scaled(const Node& node, const std::vector<SymInt>& dims) {
    for (const auto& [value, by] : ReadingsOf(&node)) {
      const auto factor = Number(by);
      if (!factor.has_value()) continue;
      const auto view = Expanded(value, dims);
      if (view.has_value()) return view->Scaled(*factor);
    }
    return std::nullopt;
  }

  std::optional<View> Expanded(Value* value, const std::vector<SymInt>& dims) {
    const auto view = Read(value);
    return view.has_value() ? view->Expanded(dims) : std::nullopt;
  }

  // Conversions that keep every number.
  std::optional<View> Widened(const Node& node, const Value& value) {
    const DataType from = facts_.TypeOf(node.input(0));
    const DataType to = facts_.TypeOf(&value);
    if (from != to && !(from == DataType::kInt32 && to == DataType::kInt64)) return std::nullopt;
    return Read(node.input(0));
  }

  Facts& facts_;
  int visits_left_ = 64;
};

}  // namespace

std::optional<View> PositionsOf(Value* value, Facts& facts) {
  return PositionReader(facts).Read(value);
}

bool ReadsIndices(const Node& view) {
  return ops::TraitsOf(view).reads_indices &&
         !(IsOp(&view, "Gather") && view.input(1)->is_constant());
}

std::optional<std::vector<View>> TuplePositionsOf(Value* indices, Facts& facts) {
  const int rank = facts.RankOf(indices);
  if (rank < 1) return std::nullopt;
  std::vector<Value*> parts = {indices};
  const Node* node = ProducerOf(indices, "Concat");
  if (node != nullptr && IsAlongLast(*node, rank)) parts = node->inputs();
  std::vector<View> positions;
  for (Value* part : parts) {
    if (facts.Extent(part, -1) != 1) return std::nullopt;
    auto view = PositionsOf(part, facts);
    if (view.has_value()) view = view->Squeezed(rank - 1);
    if (!view.has_value()) return std::nullopt;
    positions.push_back(*std::move(view));
  }
  return positions;
}

}  // namespace attnrun::opt
