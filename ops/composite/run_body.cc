// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/composite/composite.h"
#include "ops/composite/detached_body.h"
#include "ops/composite/reference_steps.h"
#include "ops/interface/optional_input.h"

namespace attnrun::ops {
namespace {

bool IsNarrow(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

// Facts about the outputs that the body gives for these inputs.
absl::StatusOr<std::vector<ValueFacts>> InferOutputs(const OpContext& context,
                                                     absl::FunctionRef<void(Body&)> write) {
  std::vector<ValueFacts> inputs(context.num_inputs());
  std::vector<const ValueFacts*> facts(inputs.size(), nullptr);
  std::vector<const Tensor*> constants;
  for (int i = 0; i < context.num_inputs(); ++i) {
    constants.push_back(OptionalInput(context, i));
    if (constants[i] == nullptr) continue;
    inputs[i] = FactsOf(*constants[i]);
    facts[i] = &inputs[i];
  }
  std::vector<ValueFacts> outputs(context.num_outputs());
  InferContext infer(facts, constants, absl::MakeSpan(outputs));
  const std::string error = InferThroughBody(infer, write);
  if (!error.empty()) return absl::InvalidArgumentError(error);
  return outputs;
}

class RunningBody final : public DetachedBody {
 public:
  explicit RunningBody(OpContext& context) : context_(context) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      AddInput(context.has_input(i) ? Add(Widened(context.input(i))) : nullptr);
    }
  }

  bool wants(int output) const override { return context_.wants_output(output); }
  void Give(Value* value, int output) override { outputs_.emplace_back(output, TensorOf(value)); }

  std::vector<Value*> AddNode(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                              AttributeMap attributes) override {
    std::vector<Tensor> results(outputs);
    if (status_.ok() && !failed()) {
      std::vector<Tensor> tensors;
      tensors.reserve(inputs.size());
      for (const Value* value : inputs) tensors.push_back(TensorOf(value));
      auto step = RunStep(op_type, outputs, tensors, std::move(attributes), context_.allocator());
      if (step.ok()) {
        results = *std::move(step);
      } else {
        const absl::Status& status = step.status();
        status_ = absl::Status(status.code(), absl::StrCat(op_type, ": ", status.message()));
      }
    }
    std::vector<Value*> values;
    values.reserve(results.size());
    for (const Tensor& tensor : results) {
      values.push_back(tensor.defined() ? Add(tensor) : Add(ValueFacts()));
    }
    return values;
  }

  absl::Status Finish(absl::FunctionRef<void(Body&)> write) {
    ATTNRUN_RETURN_IF_ERROR(status_);
    if (failed()) return absl::InvalidArgumentError(error());
    if (widened_) ATTNRUN_RETURN_IF_ERROR(Narrow(write));
    for (auto& [i, tensor] : outputs_) context_.SetOutput(i, std::move(tensor));
    return absl::OkStatus();
  }

 private:
  Tensor Widened(const Tensor& tensor) {
    if (!IsNarrow(tensor.type())) return tensor;
    widened_ = true;
    const absl::StatusOr<std::vector<double>> numbers = ToDoubles(tensor);
    absl::StatusOr<Tensor> wide =
        numbers.ok() ? FromDoubles(DataType::kFloat, tensor.shape(), *numbers, context_.allocator())
                     : numbers.status();
    status_.Update(wide.status());
    return wide.ok() ? *std::move(wide) : tensor;
  }

  // Rounds the outputs to the types that the body gives them for the inputs as they are.
  absl::Status Narrow(absl::FunctionRef<void(Body&)> write) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ValueFacts> facts, InferOutputs(context_, write));
    for (auto& [i, tensor] : outputs_) {
      if (!context_.wants_output(i) || !IsNarrow(facts[i].type)) continue;
      ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(tensor));
      ATTNRUN_ASSIGN_OR_RETURN(
          tensor, FromDoubles(facts[i].type, tensor.shape(), numbers, context_.allocator()));
    }
    return absl::OkStatus();
  }

  OpContext& context_;
  absl::Status status_;
  std::vector<std::pair<int, Tensor>> outputs_;
  bool widened_ = false;
};

}  // namespace

absl::Status RunBody(OpContext& context, absl::FunctionRef<void(Body&)> write) {
  RunningBody body(context);
  write(body);
  return body.Finish(write);
}

}  // namespace attnrun::ops
