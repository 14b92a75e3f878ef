// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/status.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_bf16.h"
#include "ops/attention/streaming_attention.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

using enum Attention::Input;
using enum Attention::Output;

// The strides of a dense tensor with `heads` heads of `size`: [batch, heads, sequence, size], or
// merged [batch, sequence, heads * size].
HeadStrides StridesOf(bool merged, int64_t heads, int64_t sequence, int64_t size) {
  HeadStrides strides{.batch = heads * sequence * size, .sequence = size, .head = sequence * size};
  if (merged) std::swap(strides.sequence, strides.head);
  if (merged) strides.sequence = heads * size;
  return strides;
}

// Copies heads [batch, heads, sequence, size], or merged ones, into `out` [batch, heads, total,
// size] from position `begin` on.
void CopyHeads(const Tensor& in, bool merged, int64_t heads, int64_t size, int64_t begin,
               Tensor& out) {
  const int64_t sequence = in.dim(merged ? 1 : 2);
  const int64_t width = BitWidth(in.type()) / 8;
  const HeadStrides from = StridesOf(merged, heads, sequence, size);
  const HeadStrides to = StridesOf(false, heads, out.dim(2), size);
  const auto* source = static_cast<const char*>(in.raw());
  auto* target = static_cast<char*>(out.mutable_raw());
  for (int64_t b = 0; b < in.dim(0); ++b) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t s = 0; s < sequence; ++s) {
        const char* row = source + (b * from.batch + n * from.head + s * from.sequence) * width;
        std::copy_n(row, size * width,
                    target + (b * to.batch + n * to.head + (begin + s) * to.sequence) * width);
      }
    }
  }
}

// Keys or values, past ones first: a view of the input where that suffices, else a copy, which is
// also the present output.
struct Joined {
  Tensor tensor;
  HeadStrides strides;
};

absl::StatusOr<Joined> JoinPast(OpContext& context, int current, int past, int present,
                                const AttentionShape& shape, int64_t size) {
  const Tensor& now = context.input(current);
  const bool has_past = context.has_input(past);
  const HeadStrides dense = StridesOf(false, shape.kv_heads, shape.keys, size);
  if (!has_past && (!context.wants_output(present) || !shape.merged)) {
    if (context.wants_output(present)) context.SetOutput(present, now);
    return Joined{now, StridesOf(shape.merged, shape.kv_heads, shape.keys, size)};
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor all, Tensor::Allocate(now.type(), shape.PresentShape(size), context.allocator()));
  if (has_past) CopyHeads(context.input(past), false, shape.kv_heads, size, 0, all);
  CopyHeads(now, shape.merged, shape.kv_heads, size, shape.past, all);
  if (context.wants_output(present)) context.SetOutput(present, all);
  return Joined{all, dense};
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const Attention& op, Precision precision)
      : op_(op), bf16_(AttendsInBf16(precision)) {}

  absl::string_view name() const override { return bf16_ ? "streaming, bf16 AMX" : "streaming"; }
  Precision precision() const override {
    return bf16_ ? Precision::kBfloat16 : Precision::kFloat32;
  }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < 3; ++i) {
      if (!IsFloatOrHalf(context.input(i).type())) return false;
    }
    if (context.has_input(kMask)) {
      const DataType type = context.input(kMask).type();
      if (!IsFloatOrHalf(type) && type != DataType::kBool) return false;
    }
    return op_.softmax_precision() != DataType::kDouble && !context.wants_output(kScores);
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const AttentionShape shape, op_.Resolve(context));
    Allocator& allocator = context.allocator();
    AttentionProblem problem = Problem(shape);
    ATTNRUN_ASSIGN_OR_RETURN(const Joined keys,
                             JoinPast(context, kK, kPastKey, kPresentKey, shape, shape.head_size));
    ATTNRUN_ASSIGN_OR_RETURN(const Joined values, JoinPast(context, kV, kPastValue, kPresentValue,
                                                           shape, shape.value_size));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor q, AsFloat(context.input(0), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor k, AsFloat(keys.tensor, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor v, AsFloat(values.tensor, allocator));
    problem.q = q.data<float>();
    problem.k = k.data<float>();
    problem.v = v.data<float>();
    problem.k_strides = keys.strides;
    problem.v_strides = values.strides;
    Tensor mask;
    ATTNRUN_RETURN_IF_ERROR(SetMask(context, shape, mask, problem));
    std::vector<int64_t> offsets;
    std::vector<int64_t> valid;
    SetPositions(context, shape, offsets, valid, problem);

    const DataType type = context.input(0).type();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, type, shape.OutputShape()));
    Tensor out = *y;
    if (type != DataType::kFloat) {
      ATTNRUN_ASSIGN_OR_RETURN(out,
                               Tensor::Allocate(DataType::kFloat, shape.OutputShape(), allocator));
    }
    problem.y = out.mutable_data<float>();
    ATTNRUN_RETURN_IF_ERROR(StreamingAttention(problem, allocator));
    if (type != DataType::kFloat) WriteFloats(out.data<float>(), out.num_elements(), *y, 0);
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<AttentionShape> shape = op_.Resolve(context);
    if (!shape.ok()) return 0;
    AttentionProblem problem = Problem(*shape);
    std::vector<int64_t> offsets;
    std::vector<int64_t> valid;
    SetPositions(context, *shape, offsets, valid, problem);
    return AttentionFlops(problem);
  }

 private:
  // The problem without pointers, mask and positions.
  AttentionProblem Problem(const AttentionShape& shape) const {
    AttentionProblem problem = ProblemOf(op_, shape);
    problem.bf16 = bf16_;
    problem.q_strides = StridesOf(shape.merged, shape.query_heads, shape.queries, shape.head_size);
    problem.y_strides = StridesOf(shape.merged, shape.query_heads, shape.queries, shape.value_size);
    problem.scale = static_cast<float>(shape.scale);
    return problem;
  }

  // Sets mask or bias. `mask` keeps the converted mask alive.
  static absl::Status SetMask(const OpContext& context, const AttentionShape& shape, Tensor& mask,
                              AttentionProblem& problem) {
    if (!context.has_input(kMask)) return absl::OkStatus();
    mask = context.input(kMask);
    const Shape& strides = shape.mask_strides;
    if (mask.type() == DataType::kBool) {
      problem.mask = {mask.data<bool>(), strides[0], strides[1], strides[2], strides[3]};
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(mask, AsFloat(mask, context.allocator()));
    problem.bias = {mask.data<float>(), strides[0], strides[1], strides[2], strides[3]};
    return absl::OkStatus();
  }

  // Sets query_offsets and valid_keys, which point into `offsets` and `valid`.
  static void SetPositions(const OpContext& context, const AttentionShape& shape,
                           std::vector<int64_t>& offsets, std::vector<int64_t>& valid,
                           AttentionProblem& problem) {
    offsets.assign(shape.batch, shape.past);
    valid.assign(shape.batch, shape.mask_keys);
    for (int64_t b = 0; context.has_input(kValidKeys) && b < shape.batch; ++b) {
      const int64_t count = context.input(kValidKeys).data<int64_t>()[b];
      offsets[b] = count - shape.queries;
      valid[b] = std::min(count, shape.mask_keys);
    }
    problem.query_offsets = offsets.data();
    problem.valid_keys = valid.data();
  }

  const Attention op_;
  const bool bf16_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Attention::MakeKernel(const KernelContext& context) const {
  return std::make_unique<AttentionKernel>(*this, context.precision);
}

}  // namespace attnrun::ops
