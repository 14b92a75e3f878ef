#include "optimizer/canonicalize/broadcasts.h"

#include <array>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/broadcasting.h"
#include "optimizer/each_node.h"

namespace attnrun {
namespace {

bool Broadcasts(const Node& node) {
  static constexpr std::array<absl::string_view, 16> kOps = {
      "Add", "Sub", "Mul",   "Div",     "Pow",  "And",         "Or",
      "Xor", "Mod", "Equal", "Greater", "Less", "LessOrEqual", "GreaterOrEqual",
      "Min", "Max"};
  return node.domain().empty() && (absl::c_linear_search(kOps, node.op_type()) ||
                                   (node.op_type() == "Where" && node.inputs().size() == 3));
}

// The extents of the result if input `changed` had extents `dims`.
std::optional<std::vector<SymInt>> ResultWith(const std::vector<Value*>& inputs, size_t changed,
                                              const std::vector<SymInt>& dims, Facts& facts) {
  std::optional<std::vector<SymInt>> result = std::vector<SymInt>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    result = BroadcastDims(result, i == changed ? dims : facts.Of(inputs[i]).dims);
  }
  return result;
}

// A tensor of one number as that number, if the result has the same extents; else null.
Value* AsNumber(Patch& patch, Facts& facts, const std::vector<Value*>& inputs, size_t i,
                const std::vector<SymInt>& dims) {
  const Value* input = inputs[i];
  const auto number = UniformOf(input);
  const DataType type = facts.TypeOf(input);
  if (!number.has_value() || input->is_constant() || type == DataType::kBool) return nullptr;
  if (ResultWith(inputs, i, {}, facts) != dims) return nullptr;
  return patch.Constant(input->name(), FromDoubles(type, {}, {*number}));
}

bool DropAt(Facts& facts, Node* node, Patch& patch) {
  const std::vector<SymInt>* known = facts.DimsOf(node->output(0));
  if (known == nullptr) return false;
  const std::vector<SymInt> dims = *known;
  std::vector<Value*> inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = BroadcastSource(inputs[i], facts, [&](const std::vector<SymInt>& from) {
      return ResultWith(inputs, i, from, facts) == dims;
    });
    Value* number = AsNumber(patch, facts, inputs, i, dims);
    if (number != nullptr) inputs[i] = number;
  }
  if (inputs == node->inputs()) return false;
  patch.Rewrite(node, inputs, node->attributes());
  return true;
}

}  // namespace

absl::StatusOr<int> DropBroadcasts(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    return Broadcasts(*node) && DropAt(context.facts, node, patch);
  });
}

}  // namespace attnrun
