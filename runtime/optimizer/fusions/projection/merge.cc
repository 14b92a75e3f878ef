#include "optimizer/fusions/projection/merge.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/linear/linear.h"

namespace attnrun {
namespace {

// One of the matrices that a Linear multiplies by.
struct Weight {
  Value* value = nullptr;
  bool transposed = false;

  int64_t Rows() const { return value->constant()->dim(transposed ? 1 : 0); }
  int64_t Columns() const { return value->constant()->dim(transposed ? 0 : 1); }
};

// Precondition: an attnrun.Linear.
Linear Read(const Node& node) {
  AttributeReader attributes(node, node.opset());
  return Linear(attributes);
}

std::vector<Weight> WeightsOf(const Node& node) {
  const Linear linear = Read(node);
  const int count = Linear::NumWeights(node.inputs().size());
  std::vector<Weight> weights;
  weights.reserve(count);
  for (int i = 0; i < count; ++i) {
    weights.push_back({node.input(Linear::WeightInput(i)), linear.is_transposed(i)});
  }
  return weights;
}

std::vector<Weight> WeightsOf(const std::vector<Node*>& linears) {
  std::vector<Weight> all;
  for (const Node* linear : linears) {
    const std::vector<Weight> weights = WeightsOf(*linear);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

int64_t Columns(const Node& linear) {
  int64_t columns = 0;
  for (const Weight& weight : WeightsOf(linear)) columns += weight.Columns();
  return columns;
}

// Whether weights and biases can stand beside each other; where not, the model fails when it runs.
bool FitTogether(const std::vector<Node*>& linears) {
  const std::vector<Weight> weights = WeightsOf(linears);
  const DataType type = weights[0].value->constant()->type();
  const bool biases_fit = absl::c_all_of(linears, [&](const Node* linear) {
    const Value* bias = linear->input(Linear::kBias);
    return bias == nullptr || (bias->constant()->type() == type &&
                               bias->constant()->shape() == Shape{Columns(*linear)});
  });
  return biases_fit && absl::c_all_of(weights, [&](const Weight& weight) {
           return weight.Rows() == weights[0].Rows() && weight.value->constant()->type() == type;
         });
}

// Tensors one after the other.
absl::StatusOr<Tensor> Joined(const std::vector<const Tensor*>& parts, const Shape& shape) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor merged,
                           Tensor::Allocate(parts[0]->type(), shape, Allocator::Heap()));
  auto* to = static_cast<char*>(merged.mutable_raw());
  for (const Tensor* part : parts) {
    std::memcpy(to, part->raw(), part->byte_size());
    to += part->byte_size();
  }
  return merged;
}

absl::StatusOr<Tensor> JoinBiases(const std::vector<Node*>& linears) {
  std::vector<Tensor> zeros(linears.size());
  std::vector<const Tensor*> parts;
  int64_t columns = 0;
  const DataType type = linears[0]->input(Linear::kWeight)->constant()->type();
  for (size_t i = 0; i < linears.size(); ++i) {
    const Value* bias = linears[i]->input(Linear::kBias);
    const int64_t count = Columns(*linears[i]);
    columns += count;
    if (bias == nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(zeros[i],
                               FromDoubles(type, {count}, std::vector<double>(count, 0.0)));
    }
    parts.push_back(bias == nullptr ? &zeros[i] : bias->constant());
  }
  return Joined(parts, {columns});
}

// Null if none of them has one.
Value* MergedBias(Patch& patch, const std::vector<Node*>& linears) {
  const auto has_bias = [](const Node* linear) { return linear->input(Linear::kBias) != nullptr; };
  if (absl::c_none_of(linears, has_bias)) return nullptr;
  return patch.Constant(absl::StrCat(linears[0]->input(Linear::kWeight)->name(), "/merged_bias"),
                        JoinBiases(linears));
}

// The inputs and attributes of a Linear of `x` over the weights side by side.
std::vector<Value*> InputsOf(Value* x, const std::vector<Weight>& weights, Value* bias) {
  std::vector<Value*> inputs(Linear::kMoreWeights, nullptr);
  inputs[Linear::kX] = x;
  inputs[Linear::kWeight] = weights[0].value;
  inputs[Linear::kBias] = bias;
  for (size_t i = 1; i < weights.size(); ++i) inputs.push_back(weights[i].value);
  return inputs;
}

AttributeMap AttributesOf(const std::vector<Weight>& weights) {
  std::vector<int64_t> transposed;
  transposed.reserve(weights.size());
  for (const Weight& weight : weights) transposed.push_back(weight.transposed ? 1 : 0);
  if (absl::c_count(transposed, 1) == 0) return {};
  return {{Linear::kTransposed, transposed}};
}

}  // namespace

bool LinearMerger::CanMerge(const Node& node, std::string& why) {
  if (node.qualified_op_type() != "attnrun.Linear") {
    why = absl::StrCat("the weight of ", node.description(), " is not constant");
    return false;
  }
  const bool plain =
      node.input(Linear::kResidual) == nullptr && Read(node).activation() == Activation::kNone;
  const Value* bias = node.input(Linear::kBias);
  const bool constant =
      (bias == nullptr || bias->is_constant()) &&
      absl::c_all_of(WeightsOf(node), [](const Weight& w) { return w.value->is_constant(); });
  if (!plain) {
    why = absl::StrCat(node.description(), " has an activation or residual");
  } else if (!constant) {
    why = absl::StrCat("the weight or bias of ", node.description(), " is not constant");
  }
  return plain && constant;
}

bool LinearMerger::SharedElsewhere(const std::vector<Node*>& linears, std::string& why) const {
  // A layer with the same weights: each of them multiplies its input, too.
  const std::vector<Weight> weights = WeightsOf(linears);
  const auto multiplies = [](const Value* x) {
    return [x](const Weight& weight) {
      return absl::c_any_of(weight.value->consumers(), [x](const Node* other) {
        return other->qualified_op_type() == "attnrun.Linear" && other->input(Linear::kX) == x;
      });
    };
  };
  for (const Weight& weight : weights) {
    const std::string name = absl::StrCat("the weight ", Quoted(weight.value->name()));
    if (unmerged_.contains(weight.value)) {
      why = absl::StrCat(name, " is shared with projections that are not merged");
      return true;
    }
    for (const Node* other : weight.value->consumers()) {
      if (absl::c_linear_search(linears, other)) continue;
      const bool linear = other->qualified_op_type() == "attnrun.Linear";
      if (linear && absl::c_all_of(weights, multiplies(other->input(Linear::kX)))) continue;
      why = absl::StrCat(name, " is shared with ", other->description(),
                         " and would have to be packed twice");
      return true;
    }
  }
  return false;
}

absl::StatusOr<int> LinearMerger::Merge(const std::vector<Node*>& linears, const Node& anchor) {
  const std::vector<Weight> weights = WeightsOf(linears);
  std::string why;
  if (SharedElsewhere(linears, why)) {
    for (const Weight& weight : weights) unmerged_.insert(weight.value);
    context_.Miss(anchor, why);
    return 0;
  }
  if (!FitTogether(linears)) return 0;
  Patch patch(context_);
  patch.Supersede(linears);
  Value* product =
      patch.Op("attnrun::Linear",
               InputsOf(linears[0]->input(Linear::kX), weights, MergedBias(patch, linears)),
               AttributesOf(weights), linears[0]->name());
  std::vector<int64_t> widths;
  widths.reserve(linears.size());
  for (const Node* linear : linears) widths.push_back(Columns(*linear));
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(linears.size()), {product, patch.Ints(widths)},
                {{"axis", int64_t{-1}}});
  for (size_t i = 0; i < linears.size(); ++i) patch.Replace(linears[i]->output(0), parts[i]);
  return patch.Apply();
}

}  // namespace attnrun
