#include "optimizer/canonicalize/common_subexpressions.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "optimizer/canonicalize/constant_folding.h"
#include "optimizer/patch.h"

namespace attnrun {
namespace {

absl::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), tensor.byte_size()};
}

// Type, shape and a sample of the bytes: reading every weight would cost more than it is worth.
std::string TensorKey(const Tensor& tensor) {
  constexpr size_t kSamples = 64;
  const absl::string_view bytes = BytesOf(tensor);
  std::string key = absl::StrCat(TypeAndShape(tensor), ":");
  if (bytes.size() <= kSamples) return absl::StrCat(key, bytes);
  for (size_t i = 0; i < kSamples; ++i) key.push_back(bytes[i * (bytes.size() - 1) / kSamples]);
  return key;
}

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.raw() == b.raw()) return true;
  return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

int MergeInitializers(PassContext& context) {
  absl::flat_hash_map<std::string, std::vector<Value*>> seen;
  int merged = 0;
  for (Value* value : context.graph.values()) {
    if (!value->is_constant() || value->consumers().empty()) continue;
    const Tensor& tensor = *value->constant();
    if (tensor.type() == DataType::kString || !tensor.is_dense()) continue;
    std::vector<Value*>& candidates = seen[TensorKey(tensor)];
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Value* other) {
      return SameElements(*other->constant(), tensor);
    });
    if (same == candidates.end()) {
      candidates.push_back(value);
      continue;
    }
    context.graph.ReplaceUses(value, *same);
    if (!context.graph.IsOutput(value)) context.Remove(value);
    ++merged;
  }
  return merged;
}

// False for attributes that hold a graph or strings of a tensor: such nodes are left alone.
bool AppendAttribute(std::string& key, const AttributeValue& value) {
  if (std::holds_alternative<std::shared_ptr<Graph>>(value)) return false;
  if (std::holds_alternative<std::vector<Tensor>>(value)) return false;
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor != nullptr) {
    if (tensor->type() == DataType::kString || !tensor->is_dense()) return false;
    absl::StrAppend(&key, TypeAndShape(*tensor), BytesOf(*tensor));
    return true;
  }
  if (const auto* number = std::get_if<float>(&value)) {
    absl::StrAppend(&key, absl::string_view(reinterpret_cast<const char*>(number), sizeof(float)));
    return true;
  }
  // Their text keeps six digits.
  if (const auto* numbers = std::get_if<std::vector<float>>(&value)) {
    absl::StrAppend(&key, KindName(value), numbers->size(), ":");
    key.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(float));
    return true;
  }
  absl::StrAppend(&key, KindName(value), ToString(value));
  return true;
}

// What a node computes; empty if that differs from run to run or is not followed.
std::string NodeKey(const Node& node) {
  if (IsRandom(node)) return "";
  std::string key =
      absl::StrCat(node.qualified_op_type(), "@", node.opset(), "/", node.outputs().size());
  for (const auto& [name, attribute] : node.attributes()) {
    absl::StrAppend(&key, "|", name, "=");
    if (!AppendAttribute(key, attribute)) return "";
  }
  for (const Value* input : node.inputs()) {
    absl::StrAppend(&key, ",", reinterpret_cast<uintptr_t>(input));
  }
  return key;
}

}  // namespace

absl::StatusOr<int> MergeCommonSubexpressions(PassContext& context) {
  int merged = MergeInitializers(context);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  absl::flat_hash_map<std::string, Node*> seen;
  for (Node* node : order) {
    const std::string key = NodeKey(*node);
    if (key.empty()) continue;
    const auto [it, inserted] = seen.try_emplace(key, node);
    if (inserted) continue;
    Patch patch(context);
    patch.Supersede({node});
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* old = node->output(i);
      Value* other = it->second->output(i);
      if (old != nullptr && other != nullptr) patch.Replace(old, other);
    }
    // The other node may leave out an output that this one has.
    if (!patch.CanApply()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    merged += applied;
  }
  return merged;
}

}  // namespace attnrun
