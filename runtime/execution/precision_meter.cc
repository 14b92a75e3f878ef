// SPDX-License-Identifier: Apache-2.0

// Two runs suffice. The first one, in the lower precision, keeps the output of each layer:
//
//   inputs -> step -> LAYER' -> ... -> outputs'       the outputs of layers are kept
//
// The second one, in float32, meets the same layers with the inputs of float32. There the kernel of
// the lower precision runs once more, for the layer's own error:
//
//   inputs -> step -> LAYER -> ... -> outputs         accumulated: kept output against this one
//                 \-> LAYER'                          own: this one against that of float32

#include "execution/precision_meter.h"

#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/exceptions.h"
#include "core/hash_map.h"
#include "core/status.h"
#include "core/tensor_error.h"
#include "execution/compute.h"
#include "execution/executor.h"

namespace attnrun::exec {
namespace {

// The first output that is not left out; -1 if there is none.
int FirstOutput(const Step& step) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] >= 0) return static_cast<int>(i);
  }
  return -1;
}

// The output FirstOutput(step), computed by `step` from the inputs of another step of the same
// node. Undefined if the kernel declines them.
absl::StatusOr<Tensor> Recompute(const Step& step, const FinishedStep& finished) {
  std::vector<Tensor> inputs(finished.inputs.begin(), finished.inputs.end());
  std::vector<Tensor> outputs(step.outputs.size());
  absl::InlinedVector<bool, 8> unwanted;
  for (const int slot : step.outputs) unwanted.push_back(slot < 0);
  ops::OpContext context(inputs, absl::MakeSpan(outputs), finished.allocator);
  context.set_unwanted(unwanted);
  ATTNRUN_ASSIGN_OR_RETURN(const bool by_kernel, Compute(step, absl::MakeSpan(inputs), context));
  return by_kernel ? std::move(outputs[FirstOutput(step)]) : Tensor();
}

// The layers of a graph and their errors.
class Layers {
 public:
  explicit Layers(const Plan& lower) {
    for (const Step& step : lower.steps()) {
      const bool is_layer =
          step.kernel != nullptr && step.kernel->precision() != Precision::kFloat32;
      if (is_layer && FirstOutput(step) >= 0) layers_[step.node].lower = &step;
    }
  }

  // To be called for each step of the run in the lower precision.
  absl::Status Keep(const FinishedStep& finished) {
    const auto layer = layers_.find(finished.step.node);
    if (layer == layers_.end() || !finished.by_kernel) return absl::OkStatus();
    layer->second.output = finished.outputs[FirstOutput(finished.step)];
    return absl::OkStatus();
  }

  // To be called for each step of the run in float32, after the other run.
  absl::Status Measure(const FinishedStep& finished) {
    const auto layer = layers_.find(finished.step.node);
    if (layer == layers_.end() || !layer->second.output.defined()) return absl::OkStatus();
    const Tensor kept = std::exchange(layer->second.output, Tensor());
    const Step& lower = *layer->second.lower;
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor recomputed, Recompute(lower, finished));
    if (!recomputed.defined()) return absl::OkStatus();
    const int output = FirstOutput(lower);
    LayerPrecision result;
    result.node = lower.node->name();
    result.op_type = lower.node->qualified_op_type();
    result.kernel = std::string(lower.kernel->name());
    result.output = lower.node->outputs()[output]->name();
    ATTNRUN_ASSIGN_OR_RETURN(result.own, ErrorOf(finished.outputs[output], recomputed));
    ATTNRUN_ASSIGN_OR_RETURN(result.accumulated, ErrorOf(finished.outputs[output], kept));
    measured_.push_back(std::move(result));
    return absl::OkStatus();
  }

  std::vector<LayerPrecision> Take() { return std::move(measured_); }

 private:
  struct Layer {
    const Step* lower = nullptr;
    // The output of the run in the lower precision.
    Tensor output;
  };

  HashMap<const Node*, Layer> layers_;
  std::vector<LayerPrecision> measured_;
};

std::optional<size_t> WorstOf(const std::vector<LayerPrecision>& layers) {
  std::optional<size_t> worst;
  double largest = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const double relative = layers[i].own.relative_rms();
    if (relative <= largest) continue;
    largest = relative;
    worst = i;
  }
  return worst;
}

absl::StatusOr<PrecisionReport> Measure(const PlanPair& plans, absl::Span<const Tensor> inputs,
                                        Interrupt& interrupt, Allocator& allocator) {
  const RunOptions unobserved;
  const RunContext context = {unobserved, interrupt, allocator};
  Layers layers(plans.lower);
  std::vector<Tensor> lower;
  ATTNRUN_RETURN_IF_ERROR(
      Execute(plans.lower, inputs, context, lower,
              [&layers](const FinishedStep& finished) { return layers.Keep(finished); }));
  std::vector<Tensor> float32;
  ATTNRUN_RETURN_IF_ERROR(
      Execute(plans.float32, inputs, context, float32,
              [&layers](const FinishedStep& finished) { return layers.Measure(finished); }));
  PrecisionReport report;
  for (size_t i = 0; i < float32.size(); ++i) {
    OutputPrecision& output = report.outputs.emplace_back();
    ATTNRUN_ASSIGN_OR_RETURN(output.float32, float32[i].Dense());
    ATTNRUN_ASSIGN_OR_RETURN(output.lower, lower[i].Dense());
    ATTNRUN_ASSIGN_OR_RETURN(output.error, ErrorOf(output.float32, output.lower));
  }
  report.layers = layers.Take();
  report.worst_layer = WorstOf(report.layers);
  return report;
}

}  // namespace

absl::StatusOr<PrecisionReport> MeasurePrecision(const PlanPair& plans,
                                                 absl::Span<const Tensor> inputs,
                                                 Interrupt& interrupt, Allocator& allocator) {
  return WithoutExceptions([&] { return Measure(plans, inputs, interrupt, allocator); });
}

}  // namespace attnrun::exec
