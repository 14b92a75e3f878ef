// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"
#include "core/status.h"
#include "ops/attention/attention_bf16.h"
#include "ops/attention/attention_probabilities.h"
#include "ops/attention/fused_attention.h"
#include "ops/attention/quantized_rows.h"
#include "ops/attention/streaming_attention.h"
#include "ops/attention/whole_rows.h"
#include "ops/tensors/broadcast_tensor.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"
#include "ops/tensors/half.h"

namespace attnrun::ops {
namespace {

bool IsSameView(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.type() == b.type() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

// True if attention may read k and v as they are, in fewer bits than floats: a cache, rather than
// parts of one tensor with q, which is best converted once.
bool IsNarrowCache(const FusedAttention& op, const OpContext& context) {
  const Tensor& k = context.input(FusedAttention::kKey);
  const Tensor& v = context.input(FusedAttention::kValue);
  if (k.type() == DataType::kFloat || k.type() != v.type() || context.wants_output(1) ||
      IsSameView(k, context.input(FusedAttention::kQuery))) {
    return false;
  }
  for (const int input : {FusedAttention::kKey, FusedAttention::kValue}) {
    if (FusedAttention::IsRows(input, k.type()) && !op.HasRowsOfHeads(input)) return false;
  }
  const absl::StatusOr<FusedAttentionShape> shape = op.Resolve(context);
  return shape.ok() && shape->k.strides.channel == 1 && shape->v.strides.channel == 1;
}

// The inputs that are read as they are, in fewer bits than floats.
struct Narrow {
  // k and v.
  bool cache = false;
  // q, k and v in bf16.
  bool bf16 = false;

  bool Keeps(int input, DataType type) const {
    if (input > FusedAttention::kValue) return false;
    return (cache && input != FusedAttention::kQuery) || (bf16 && type == DataType::kBfloat16);
  }
};

// The inputs, with half-precision ones and quantized rows converted to floats, but for the narrow
// ones. Inputs that are the same view (packed Q, K and V) are converted once.
using FusedInputs = std::array<Tensor, FusedAttention::kSinks + 1>;
absl::StatusOr<FusedInputs> FloatInputs(const FusedAttention& op, const OpContext& context,
                                        const Narrow& narrow) {
  FusedInputs inputs;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    inputs[i] = context.input(i);
    if (i == FusedAttention::kMask || inputs[i].type() == DataType::kFloat) continue;
    if (narrow.Keeps(i, inputs[i].type())) continue;
    if (i > 0 && context.has_input(i - 1) && IsSameView(context.input(i), context.input(i - 1))) {
      inputs[i] = inputs[i - 1];
      continue;
    }
    if (FusedAttention::IsRows(i, inputs[i].type())) {
      const NarrowForm form = op.FormOfRows(inputs[i].type());
      ATTNRUN_ASSIGN_OR_RETURN(inputs[i], RowsAsFloats(inputs[i], form, context.allocator()));
      continue;
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, inputs[i].Dense(context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(inputs[i], ToFloat(dense, context.allocator()));
  }
  return inputs;
}

// The positions of the first queries.
using Offsets = absl::InlinedVector<int64_t, 16>;

// The address of element (0, 0, 0, 0). A tensor without elements has no address to add to.
const void* First(const Tensor& tensor, const HeadView& view) {
  const int64_t offset = tensor.num_elements() == 0 ? 0 : view.offset;
  return tensor.data<char>() + offset * (BitWidth(tensor.type()) / 8);
}
const float* FirstFloat(const Tensor& tensor, const HeadView& view) {
  return static_cast<const float*>(First(tensor, view));
}

// Sets the data of q, k and v.
void SetHeads(const FusedInputs& inputs, const FusedAttentionShape& shape, NarrowForm cache,
              AttentionProblem& problem) {
  const auto set = [](const Tensor& tensor, const HeadView& view, const float*& floats,
                      const uint16_t*& halves) {
    if (tensor.type() == DataType::kBfloat16) {
      halves = static_cast<const uint16_t*>(First(tensor, view));
    } else {
      floats = FirstFloat(tensor, view);
    }
  };
  const Tensor& k = inputs[FusedAttention::kKey];
  const Tensor& v = inputs[FusedAttention::kValue];
  set(inputs[FusedAttention::kQuery], shape.q, problem.q, problem.bf16_q);
  if (cache != NarrowForm::kFloats) {
    problem.narrow = {First(k, shape.k), First(v, shape.v), cache};
    return;
  }
  set(k, shape.k, problem.k, problem.bf16_k);
  set(v, shape.v, problem.v, problem.bf16_v);
}

// Rounds the floats of q, k and v; the same view once.
absl::Status RoundHeads(FusedInputs& inputs, Allocator& allocator) {
  const FusedInputs before = inputs;
  for (int i = 0; i <= FusedAttention::kValue; ++i) {
    if (i > 0 && IsSameView(before[i], before[i - 1])) {
      inputs[i] = inputs[i - 1];
      continue;
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, before[i].Dense(allocator));
    ATTNRUN_ASSIGN_OR_RETURN(inputs[i],
                             Tensor::Allocate(DataType::kFloat, dense.shape(), allocator));
    std::copy_n(dense.data<float>(), dense.num_elements(), inputs[i].mutable_data<float>());
    RoundToBf16(inputs[i].mutable_data<float>(), dense.num_elements());
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status SetScoreOperand(const Tensor& tensor, const Shape& scores, ScoreOperand<T>& operand) {
  if (!tensor.defined()) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStridesOf(tensor, scores));
  operand = {tensor.data<T>(), strides[0], strides[1], strides[2], strides[3]};
  return absl::OkStatus();
}

class FusedAttentionKernel final : public Kernel {
 public:
  FusedAttentionKernel(const FusedAttention& op, Precision precision)
      : op_(op), bf16_(AttendsInBf16(precision)) {}

  absl::string_view name() const override { return bf16_ ? "streaming, bf16 AMX" : "streaming"; }
  Precision precision() const override {
    return bf16_ ? Precision::kBfloat16 : Precision::kFloat32;
  }
  bool accepts_strided() const override { return true; }
  bool can_store_bf16() const override { return bf16_; }
  bool rounds_input(int i) const override { return bf16_ && i <= FusedAttention::kValue; }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      const DataType expected = i == FusedAttention::kMask ? DataType::kBool : DataType::kFloat;
      if (!context.has_input(i) || context.input(i).type() == expected) continue;
      const DataType type = context.input(i).type();
      if (i == FusedAttention::kMask) return false;
      if (!IsFloatOrHalf(type) && !FusedAttention::IsRows(i, type)) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const Narrow narrow, NarrowInputs(context));
    ATTNRUN_ASSIGN_OR_RETURN(FusedInputs inputs, FloatInputs(op_, context, narrow));
    if (bf16_ && context.wants_output(1)) {
      ATTNRUN_RETURN_IF_ERROR(RoundHeads(inputs, allocator));
    }
    const OpContext converted(inputs, {}, allocator);
    ATTNRUN_ASSIGN_OR_RETURN(const FusedAttentionShape shape, op_.Resolve(converted));
    AttentionProblem problem = Problem(shape);
    SetHeads(inputs, shape, narrow.cache ? FormOfCache(context) : NarrowForm::kFloats, problem);
    const Shape scores = shape.ScoresShape();
    ATTNRUN_RETURN_IF_ERROR(SetScoreOperand(inputs[FusedAttention::kBias], scores, problem.bias));
    ATTNRUN_RETURN_IF_ERROR(SetScoreOperand(inputs[FusedAttention::kMask], scores, problem.mask));
    ATTNRUN_RETURN_IF_ERROR(
        SetScoreOperand(inputs[FusedAttention::kSinks], shape.SinksShape(), problem.sinks));
    const Offsets offsets(shape.batch, op_.FirstPosition(shape));
    problem.query_offsets = offsets.data();

    const DataType type = context.declared_type(FusedAttention::kQuery);
    if (context.stores_bf16() && type == DataType::kFloat && !context.wants_output(1)) {
      ATTNRUN_ASSIGN_OR_RETURN(Tensor * halves, context.AllocateRounded(shape.OutputShape()));
      problem.bf16_y = halves->mutable_data<uint16_t>();
      return StreamingAttention(problem, allocator);
    }
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, type, shape.OutputShape()));
    problem.y = y.data();
    if (context.wants_output(1)) {
      ATTNRUN_ASSIGN_OR_RETURN(FloatOutput probabilities,
                               FloatOutput::Allocate(context, 1, type, scores));
      ATTNRUN_RETURN_IF_ERROR(AttentionWithProbabilities(problem, probabilities.data(), allocator));
      probabilities.Store();
    } else {
      ATTNRUN_RETURN_IF_ERROR(StreamingAttention(problem, allocator));
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<FusedAttentionShape> shape = op_.Resolve(context);
    if (!shape.ok()) return 0;
    AttentionProblem problem = Problem(*shape);
    const Offsets offsets(shape->batch, op_.FirstPosition(*shape));
    problem.query_offsets = offsets.data();
    return AttentionFlops(problem);
  }

 private:
  // The form of a narrow k and v.
  NarrowForm FormOfCache(const OpContext& context) const {
    const DataType type = context.input(FusedAttention::kKey).type();
    if (type == DataType::kBfloat16) return NarrowForm::kBfloat16;
    return type == DataType::kFloat16 ? NarrowForm::kFloat16 : op_.FormOfRows(type);
  }

  absl::StatusOr<Narrow> NarrowInputs(const OpContext& context) const {
    Narrow narrow;
    narrow.cache = !bf16_ && IsNarrowCache(op_, context);
    bool has_bf16 = false;
    for (int i = 0; i <= FusedAttention::kValue; ++i) {
      has_bf16 |= context.input(i).type() == DataType::kBfloat16;
    }
    if (!bf16_ || !has_bf16 || context.wants_output(1)) return narrow;
    ATTNRUN_ASSIGN_OR_RETURN(const FusedAttentionShape shape, op_.Resolve(context));
    narrow.bf16 = AttendsWholeRows(Problem(shape));
    return narrow;
  }

  // The problem without pointers and positions.
  AttentionProblem Problem(const FusedAttentionShape& shape) const {
    AttentionProblem problem = ProblemOf(op_, shape);
    problem.bf16 = bf16_;
    problem.q_strides = shape.q.strides;
    problem.k_strides = shape.k.strides;
    problem.v_strides = shape.v.strides;
    const int64_t width = shape.query_heads * shape.value_size;
    problem.y_strides = {
        .batch = shape.queries * width, .sequence = width, .head = shape.value_size};
    problem.scale = op_.scale();
    problem.mask_value = op_.mask_value();
    problem.bias_on_masked = op_.bias_on_masked();
    problem.masked_row = op_.MaskedRow(shape);
    problem.nan_row_is_zero = op_.nan_row_is_zero();
    return problem;
  }

  const FusedAttention op_;
  const bool bf16_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> FusedAttention::MakeKernel(
    const KernelContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(status_);
  return std::make_unique<FusedAttentionKernel>(*this, context.precision);
}

}  // namespace attnrun::ops
