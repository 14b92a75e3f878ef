// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent_kernel.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/recurrent_steps.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The products with X are one for all steps and directions; a step multiplies the states of its
// samples with the packed R.
class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const RecurrentAttributes& attributes, std::optional<RecurrentWeights> weights)
      : a_(attributes),
        form_(weights.has_value() ? weights->form : WeightForm::kOnnx),
        weights_(std::move(weights)) {}

  absl::string_view name() const override {
    return form_ == WeightForm::kIntegers ? "integer gemm and gates" : "gemm and gates";
  }
  Precision precision() const override {
    return weights_.has_value() ? GemmPrecision(weights_->input.floats.get()) : Precision::kFloat32;
  }

  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(kX).type();
    // DynamicQuantizeLSTM takes float alone.
    if (form_ == WeightForm::kIntegers ? type != DataType::kFloat : !IsFloatOrHalf(type)) {
      return false;
    }
    const std::optional<RecurrentExtents> extents = ExtentsOf(a_, form_, context);
    return extents.has_value() && LengthsOf(*extents, context).has_value();
  }

  absl::Status Run(OpContext& context) const override {
    const std::optional<RecurrentExtents> extents = ExtentsOf(a_, form_, context);
    if (!extents.has_value()) return absl::InternalError("inputs that do not fit each other");
    const RecurrentExtents& e = *extents;
    const std::optional<std::vector<int64_t>> lengths = LengthsOf(e, context);
    if (!lengths.has_value()) return absl::InternalError("inputs that do not fit each other");
    Allocator& allocator = context.allocator();
    RecurrentWeights weights;
    if (!weights_.has_value()) {
      ATTNRUN_ASSIGN_OR_RETURN(
          weights, PackWeights(a_, context.input(kW), context.input(kR), DataType::kFloat, {}));
    }
    RecurrentOperands operands = {.weights = weights_.has_value() ? *weights_ : weights,
                                  .lengths = *lengths,
                                  .input = nullptr,
                                  .state_bias = nullptr,
                                  .peepholes = nullptr,
                                  .h = nullptr,
                                  .c = nullptr,
                                  .y = nullptr};
    ATTNRUN_ASSIGN_OR_RETURN(Tensor h, State(kInitialH, e, context));
    operands.h = h.mutable_data<float>();
    Tensor c;
    Tensor peepholes;
    if (a_.cell == Cell::kLstm) {
      ATTNRUN_ASSIGN_OR_RETURN(c, State(kInitialC, e, context));
      operands.c = c.mutable_data<float>();
      if (context.has_input(kPeepholes)) {
        ATTNRUN_ASSIGN_OR_RETURN(peepholes, ToFloat(context.input(kPeepholes), allocator));
        operands.peepholes = peepholes.data<float>();
      }
    }
    std::optional<FloatOutput> y;
    if (context.wants_output(0)) {
      ATTNRUN_ASSIGN_OR_RETURN(
          y, FloatOutput::Allocate(context, 0, context.input(kX).type(), e.YShape()));
      operands.y = y->data();
      // Steps beyond a sample's length are zeros.
      if (context.has_input(kLengths)) std::fill_n(y->data(), y->num_elements(), 0.0F);
    }
    ATTNRUN_RETURN_IF_ERROR(Compute(e, operands, context));
    if (y.has_value()) y->Store();
    ATTNRUN_RETURN_IF_ERROR(Write(1, h, e, context));
    return a_.cell == Cell::kLstm ? Write(2, c, e, context) : absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const std::optional<RecurrentExtents> e = ExtentsOf(a_, form_, context);
    if (!e.has_value()) return 0;
    return 2 * e->steps * e->batch * e->directions * e->columns * (e->width + e->hidden);
  }

 private:
  // A copy of the initial states; zeros if they are left out.
  static absl::StatusOr<Tensor> State(RecurrentInput input, const RecurrentExtents& e,
                                      const OpContext& context) {
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor state, Tensor::Allocate(DataType::kFloat, e.StateShape(), context.allocator()));
    if (context.has_input(input)) {
      ReadFloats(context.input(input), 0, state.num_elements(), state.mutable_data<float>());
    } else {
      std::fill_n(state.mutable_data<float>(), state.num_elements(), 0.0F);
    }
    return state;
  }

  static absl::Status Write(int i, const Tensor& state, const RecurrentExtents& e,
                            OpContext& context) {
    if (!context.wants_output(i)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * output,
                             context.AllocateOutput(i, context.input(kX).type(), e.StateShape()));
    WriteFloats(state.data<float>(), state.num_elements(), *output, 0);
    return absl::OkStatus();
  }

  // Sets the biases of the products with X [D * G * H], and with the state (empty: none). The two
  // add up, but for the gate that a GRU resets after its product.
  absl::Status ReadBiases(const RecurrentExtents& e, const OpContext& context,
                          std::vector<float>& input, std::vector<float>& state) const {
    if (!context.has_input(kBias)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor bias, ToFloat(context.input(kBias), context.allocator()));
    input.resize(e.directions * e.columns);
    const bool split = a_.cell == Cell::kGru && a_.linear_before_reset;
    if (split) state.assign(input.size(), 0);
    for (int64_t d = 0; d < e.directions; ++d) {
      const float* const of_x = bias.data<float>() + 2 * d * e.columns;
      for (int64_t i = 0; i < e.columns; ++i) {
        const bool apart = split && i >= 2 * e.hidden;
        const float of_h = of_x[e.columns + i];
        input[d * e.columns + i] = apart ? of_x[i] : of_x[i] + of_h;
        if (apart) state[d * e.columns + i] = of_h;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Compute(const RecurrentExtents& e, RecurrentOperands& operands,
                       OpContext& context) const {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(kX), allocator));
    std::vector<float> bias;
    std::vector<float> state_bias;
    ATTNRUN_RETURN_IF_ERROR(ReadBiases(e, context, bias, state_bias));
    if (!state_bias.empty()) operands.state_bias = state_bias.data();
    // Integers are rounded by the range of all rows, which excludes steps that no sequence has.
    const int64_t steps =
        form_ == WeightForm::kOnnx ? e.steps : *absl::c_max_element(operands.lengths);
    const int64_t rows = steps * e.batch;
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor input,
        Tensor::Allocate(DataType::kFloat, {rows, e.directions * e.columns}, allocator));
    Epilogue epilogue;
    if (!bias.empty()) epilogue.bias = bias.data();
    Multiply({x.data<float>(), rows, e.width, e.width}, operands.weights.input,
             input.mutable_data<float>(), e.directions * e.columns, epilogue);
    operands.input = input.data<float>();
    // Directions and samples do not depend on each other. A single one leaves the threads to its
    // products, and so do those that are too short for threads.
    constexpr double kLeast = 1 << 19;
    const double work = static_cast<double>(rows * e.directions * e.columns * e.hidden);
    const bool splits = form_ == WeightForm::kOnnx && work >= 2 * kLeast;
    const int64_t wanted = splits ? std::max(NumThreads() / e.directions, int64_t{1}) : 1;
    const int64_t blocks = std::min(wanted, e.batch);
    const int64_t most = (e.batch + blocks - 1) / blocks;
    return ParallelForWithScratch(e.directions * blocks, work < kLeast ? e.directions * blocks : 1,
                                  most * ScratchFloats(e), allocator,
                                  [&](int64_t begin, int64_t end, float* scratch) {
                                    for (int64_t i = begin; i < end; ++i) {
                                      const int64_t first = i % blocks * most;
                                      const int64_t last = std::min(first + most, e.batch);
                                      if (first >= last) continue;
                                      RunSteps(a_, e, operands, i / blocks, first, last, scratch);
                                    }
                                  });
  }

  const RecurrentAttributes a_;
  const WeightForm form_;
  // Nullopt unless W and R are constant.
  const std::optional<RecurrentWeights> weights_;
};

}  // namespace

std::unique_ptr<Kernel> MakeRecurrentKernel(const RecurrentAttributes& attributes,
                                            std::optional<RecurrentWeights> weights) {
  return std::make_unique<RecurrentKernel>(attributes, std::move(weights));
}

absl::StatusOr<std::unique_ptr<Kernel>> Recurrent::MakeKernel(const KernelContext& context) const {
  if (!status_.ok()) return nullptr;
  std::optional<RecurrentWeights> weights;
  const Tensor& w = context.constants[kW];
  const Tensor& r = context.constants[kR];
  if (w.defined() && r.defined() && IsFloatOrHalf(w.type()) && w.type() == r.type() &&
      w.rank() == 3 && r.rank() == 3 && w.dim(0) == r.dim(0) && w.dim(1) == r.dim(1) &&
      r.dim(1) == attributes_.gates() * r.dim(2) && w.num_elements() > 0 && r.num_elements() > 0) {
    ATTNRUN_ASSIGN_OR_RETURN(weights, PackWeights(attributes_, w, r, w.type(), context));
  }
  return MakeRecurrentKernel(attributes_, std::move(weights));
}

}  // namespace attnrun::ops
