// SPDX-License-Identifier: Apache-2.0
#include "state/trail.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "core/hash_map.h"

namespace attnrun::state {
namespace {

int64_t IntAttribute(const Node& node, absl::string_view name, int64_t otherwise) {
  const AttributeValue* value = node.attribute(name);
  const auto* number = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
  return number != nullptr ? *number : otherwise;
}

// The only element of a constant input; nullopt if there is none.
std::optional<int64_t> OnlyConstant(const Node& node, int input) {
  const Value* value = node.input(input);
  while (value != nullptr && value->outer() != nullptr) value = value->outer();
  const Tensor* constant = value != nullptr && value->is_constant() ? value->constant() : nullptr;
  if (constant == nullptr || constant->num_elements() != 1) return std::nullopt;
  const auto elements = ToInts(*constant);
  return elements.ok() ? std::optional((*elements)[0]) : std::nullopt;
}

// W of x[-W:]; 0 for other slices.
int64_t LastPositions(const Node& node) {
  if (node.op_type() != "Slice" || node.inputs().size() < 3) return 0;
  const int64_t start = OnlyConstant(node, 1).value_or(0);
  const int64_t end = OnlyConstant(node, 2).value_or(0);
  const bool steps = node.input(4) != nullptr && OnlyConstant(node, 4) != 1;
  // No axis is that long.
  constexpr int64_t kFar = 1 << 30;
  return start < 0 && start > -kFar && end >= kFar && !steps ? -start : 0;
}

// Follows an output upwards. The axes of a trail are those of the value where the walk stands.
class Walk {
 public:
  std::vector<Trail> From(const Value* output) {
    // Not by recursion: a chain of operators may be longer than the stack.
    std::vector<Step> pending = {{output, Trail()}};
    while (!pending.empty()) {
      const Step step = pending.back();
      pending.pop_back();
      Take(step);
      pending.insert(pending.end(), above_.rbegin(), above_.rend());
      above_.clear();
    }
    return std::move(found_);
  }

 private:
  struct Step {
    const Value* value;
    Trail trail;
  };

  void Take(Step step) {
    const Value* value = step.value;
    while (value->outer() != nullptr) value = value->outer();
    if (!seen_.insert(value).second) return;
    if (value->is_input()) {
      step.trail.input = value;
      found_.push_back(step.trail);
    } else if (value->producer() != nullptr) {
      Pass(*value->producer(), value->producer_index(), step.trail);
    }
  }

  void Visit(const Value* value, const Trail& trail) { above_.push_back({value, trail}); }

  void Pass(const Node& node, int output, const Trail& trail) {
    const std::string op = node.qualified_op_type();
    if (op == "Concat" || op == "attnrun.AppendToCache") {
      Append(node, trail);
    } else if (op == "If") {
      PassIf(node, output, trail);
    } else if (op == "Where") {
      for (const int i : {1, 2}) Visit(node.input(i), Overwritten(trail, -1));
    } else if (op == "ScatterND" || op == "TensorScatter" || op == "ScatterElements") {
      const int64_t otherwise = op == "TensorScatter" ? -2 : op == "ScatterElements" ? 0 : -1;
      const int64_t axis = op == "ScatterND" ? -1 : IntAttribute(node, "axis", otherwise);
      Visit(node.input(0), Overwritten(trail, FromFront(node.input(0), axis)));
    } else if (op == "Slice" || op == "Gather") {
      Visit(node.input(0), Cut(node, trail));
    } else if (op == "Transpose") {
      Visit(node.input(0), Transposed(node, trail));
    } else if (op == "Identity" || op == "Cast") {
      Visit(node.input(0), trail);
    } else if (op == "Reshape" || op == "Squeeze" || op == "Unsqueeze") {
      Trail reshaped = trail;
      reshaped.axis = -1;
      Visit(node.input(0), reshaped);
    }
  }

  // Only what comes first stays where it is.
  void Append(const Node& node, const Trail& trail) {
    const bool is_concat = node.op_type() == "Concat";
    Trail appended = trail;
    appended.appends = true;
    if (!is_concat && node.input(4) != nullptr) appended.cuts = true;
    appended.has_length = !is_concat;
    appended.axis = is_concat ? FromFront(node.input(0), IntAttribute(node, "axis", 0)) : 2;
    Visit(node.input(0), appended);
  }

  static Trail Cut(const Node& node, Trail trail) {
    if (node.op_type() == "Gather" && OnlyConstant(node, 1).has_value()) trail.is_part = true;
    // All but the last cut let through fewer.
    if (!trail.appends && !trail.cuts) trail.window = LastPositions(node);
    trail.cuts = true;
    return trail;
  }

  void PassIf(const Node& node, int output, const Trail& trail) {
    for (const auto& [name, value] : node.attributes()) {
      const auto* graph = std::get_if<std::shared_ptr<Graph>>(&value);
      if (graph != nullptr) Visit((*graph)->outputs()[output], trail);
    }
  }

  static Trail Overwritten(Trail trail, int axis) {
    trail.overwrites = true;
    if (axis >= 0) trail.axis = axis;
    return trail;
  }

  static Trail Transposed(const Node& node, Trail trail) {
    const AttributeValue* value = node.attribute("perm");
    const auto* perm = value != nullptr ? std::get_if<std::vector<int64_t>>(value) : nullptr;
    const bool known =
        perm != nullptr && trail.axis >= 0 && trail.axis < static_cast<int>(perm->size());
    trail.axis = known ? static_cast<int>((*perm)[trail.axis]) : -1;
    return trail;
  }

  // -1 if the axis counts from the back of a value of unknown rank.
  static int FromFront(const Value* value, int64_t axis) {
    const auto& shape = value->type().shape;
    if (axis >= 0) return static_cast<int>(axis);
    return shape.has_value() ? static_cast<int>(axis + static_cast<int64_t>(shape->size())) : -1;
  }

  HashSet<const Value*> seen_;
  // The values above the one where the walk stands, in the order in which to visit them.
  std::vector<Step> above_;
  std::vector<Trail> found_;
};

}  // namespace

std::vector<Trail> TrailsOf(const Value* output) { return Walk().From(output); }

}  // namespace attnrun::state
