// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linear_attention/linear_attention_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <algorithm>

#include "hwy/highway.h"
#include "ops/linear_attention/state_block.h"
#include "ops/tensors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr size_t kLanes = hn::MaxLanes(Tag());
constexpr size_t kVectors = kStateColumns / kLanes;

// A row of a block, in registers.
struct BlockRow {
  Vector parts[kVectors];
};

HWY_INLINE BlockRow ZeroRow() {
  BlockRow row;
  for (Vector& part : row.parts) part = hn::Zero(Tag());
  return row;
}

// A sum over the rows of a state runs in two chains, of even and of odd rows, since the processor
// waits four cycles for each addition to a chain.
HWY_INLINE void StoreSum(const BlockRow& even, const BlockRow& odd, float* out) {
  for (size_t i = 0; i < kVectors; ++i) {
    hn::Store(hn::Add(even.parts[i], odd.parts[i]), Tag(), out + i * kLanes);
  }
}

HWY_INLINE void AddRow(const float* row, float factor, BlockRow& sum) {
  const Vector f = hn::Set(Tag(), factor);
  for (size_t i = 0; i < kVectors; ++i) {
    sum.parts[i] = hn::MulAdd(hn::Load(Tag(), row + i * kLanes), f, sum.parts[i]);
  }
}

// out = the state's rows, each times a factor, added up.
HWY_INLINE void SumRows(const StateBlock& b, const float* factors, float* out) {
  BlockRow even = ZeroRow();
  BlockRow odd = ZeroRow();
  int64_t d = 0;
  for (; d + 1 < b.key_size; d += 2) {
    AddRow(b.state + d * kStateColumns, factors[d], even);
    AddRow(b.state + (d + 1) * kStateColumns, factors[d + 1], odd);
  }
  if (d < b.key_size) AddRow(b.state + d * kStateColumns, factors[d], even);
  StoreSum(even, odd, out);
}

// row = factor row + k v; sum += q row.
HWY_INLINE void UpdateRow(float* row, float factor, float k, float q, const BlockRow& v,
                          BlockRow& sum) {
  const Vector factors = hn::Set(Tag(), factor);
  const Vector keys = hn::Set(Tag(), k);
  const Vector queries = hn::Set(Tag(), q);
  for (size_t i = 0; i < kVectors; ++i) {
    const Vector kept = hn::Mul(hn::Load(Tag(), row + i * kLanes), factors);
    const Vector now = hn::MulAdd(keys, v.parts[i], kept);
    hn::Store(now, Tag(), row + i * kLanes);
    sum.parts[i] = hn::MulAdd(queries, now, sum.parts[i]);
  }
}

// Changes the state and reads it by the first query head on the way.
HWY_INLINE void UpdateRows(const StateBlock& b, const float* factors, const float* k,
                           const float* q, const float* v, float* out) {
  BlockRow value;
  for (size_t i = 0; i < kVectors; ++i) value.parts[i] = hn::Load(Tag(), v + i * kLanes);
  BlockRow even = ZeroRow();
  BlockRow odd = ZeroRow();
  int64_t d = 0;
  for (; d + 1 < b.key_size; d += 2) {
    float* row = b.state + d * kStateColumns;
    UpdateRow(row, factors[d], k[d], q[d], value, even);
    UpdateRow(row + kStateColumns, factors[d + 1], k[d + 1], q[d + 1], value, odd);
  }
  if (d < b.key_size) {
    UpdateRow(b.state + d * kStateColumns, factors[d], k[d], q[d], value, even);
  }
  StoreSum(even, odd, out);
}

// factors[d] = exp(decay of key element d).
HWY_INLINE void DecayFactors(const StateBlock& b, int64_t token, float* factors) {
  const Tag tag;
  const float* decay = b.decay.row(token);
  if (!b.decay_per_key) {
    const Vector factor = AnyExp(tag, hn::Set(tag, decay[0]));
    std::fill_n(factors, b.key_size, hn::GetLane(factor));
    return;
  }
  for (int64_t d = 0; d < b.key_size; d += static_cast<int64_t>(kLanes)) {
    const auto count = static_cast<size_t>(std::min<int64_t>(kLanes, b.key_size - d));
    hn::StoreN(AnyExp(tag, hn::LoadN(tag, decay + d, count)), tag, factors + d, count);
  }
}

// Runs the tokens [begin, end) one after the other.
void RunTokens(const StateBlock& b, int64_t begin, int64_t end) {
  float* factors = b.rows;
  float* weights = b.rows + b.key_size;
  if (!b.decay) std::fill_n(factors, b.key_size, 1.0F);
  HWY_ALIGN float value[kStateColumns] = {};
  HWY_ALIGN float sum[kStateColumns];
  for (int64_t token = begin; token < end; ++token) {
    const float* k = b.key.row(token);
    std::copy_n(b.value.row(token), b.columns, value);
    if (b.decay) DecayFactors(b, token, factors);
    if (b.beta) {
      for (int64_t d = 0; d < b.key_size; ++d) weights[d] = factors[d] * k[d];
      SumRows(b, weights, sum);
      const float beta = *b.beta.row(token);
      for (int64_t i = 0; i < b.columns; ++i) value[i] = beta * (value[i] - sum[i]);
    }
    float* out = b.output + token * b.output_stride;
    for (int64_t reader = 0; reader < b.readers; ++reader) {
      const float* q = b.query.row(token) + reader * b.key_size;
      if (reader == 0) {
        UpdateRows(b, factors, k, q, value, sum);
      } else {
        SumRows(b, q, sum);
      }
      for (int64_t i = 0; i < b.columns; ++i) out[reader * b.output_step + i] = b.scale * sum[i];
    }
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/linear_attention/linear_attention.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(RunTokens);

// The inputs as floats, and the outputs.
struct Operands {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor past;
  Tensor decay;
  Tensor beta;
  float* output;
  float* present;
};

// The inputs that there are.
absl::StatusOr<Operands> ReadOperands(const OpContext& context) {
  Operands operands = {};
  Tensor* const tensors[] = {&operands.query, &operands.key,   &operands.value,
                             &operands.past,  &operands.decay, &operands.beta};
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(*tensors[i], ToFloat(context.input(i), context.allocator()));
  }
  return operands;
}

// The rows of one sample in [B, T, width], from a column on.
TokenRows RowsOf(const Tensor& tensor, int64_t sample, int64_t column) {
  if (!tensor.defined()) return {};
  const int64_t width = tensor.dim(2);
  return {.data = tensor.data<float>() + sample * tensor.dim(1) * width + column, .stride = width};
}

// Runs the recurrence token by token. Each block of columns of each head's state is a piece of
// work.
class LinearAttentionKernel final : public Kernel {
 public:
  explicit LinearAttentionKernel(const LinearAttentionAttributes& attributes)
      : attributes_(attributes) {}

  absl::string_view name() const override { return "recurrence"; }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.has_input(i) && !IsFloatOrHalf(context.input(i).type())) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const LinearAttentionShape shape,
                             ResolveLinearAttention(attributes_, context));
    ATTNRUN_ASSIGN_OR_RETURN(Operands operands, ReadOperands(context));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput output,
        FloatOutput::Allocate(context, 0, context.input(0).type(), shape.output));
    const DataType state_type = context.input(context.has_input(3) ? 3 : 0).type();
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput present,
                             FloatOutput::Allocate(context, 1, state_type, shape.state));
    operands.output = output.data();
    operands.present = present.data();
    const int64_t blocks = DivCeil(shape.value_size, kStateColumns);
    const int64_t scratch = shape.key_size * (kStateColumns + 2);
    ATTNRUN_RETURN_IF_ERROR(ParallelForWithScratch(
        shape.batch * shape.heads * blocks, 1, scratch, context.allocator(),
        [&](int64_t begin, int64_t end, float* floats) {
          for (int64_t i = begin; i < end && !Interrupted(); ++i) {
            RunBlock(shape, operands, i / blocks, i % blocks * kStateColumns, floats);
          }
        }));
    output.Store();
    present.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const auto shape = ResolveLinearAttention(attributes_, context);
    if (!shape.ok()) return 0;
    const int64_t passes = 1 + shape->readers + (attributes_.delta ? 1 : 0);
    return 2 * passes * shape->batch * shape->tokens * shape->heads * shape->key_size *
           shape->value_size;
  }

 private:
  // `head` counts over all samples.
  void RunBlock(const LinearAttentionShape& shape, const Operands& operands, int64_t head,
                int64_t column, float* scratch) const {
    const StateBlock block = MakeBlock(shape, operands, head, column, scratch);
    const int64_t size = shape.key_size * shape.value_size;
    const int64_t slot_size = shape.batch * shape.heads * size;
    const int64_t slots = std::max<int64_t>(1, attributes_.window);
    const int64_t place = head * size + column;
    LoadState(block, shape.value_size,
              operands.past.defined()
                  ? operands.past.data<float>() + (slots - 1) * slot_size + place
                  : nullptr);
    int64_t done = 0;
    for (int64_t slot = 0; slot < slots; ++slot) {
      const int64_t end = shape.tokens - slots + slot + 1;
      if (end > 0) HWY_DYNAMIC_DISPATCH(RunTokens)(block, done, end);
      done = std::max<int64_t>(done, end);
      const bool holds_state = end > 0 || slot == slots - 1;
      StoreState(block, shape.value_size, holds_state, operands.present + slot * slot_size + place);
    }
  }

  StateBlock MakeBlock(const LinearAttentionShape& shape, const Operands& operands, int64_t head,
                       int64_t column, float* scratch) const {
    const int64_t sample = head / shape.heads;
    const int64_t h = head % shape.heads;
    const int64_t width = shape.heads * shape.readers * shape.value_size;
    const int64_t reader = h * shape.readers;
    return {.key_size = shape.key_size,
            .columns = std::min(kStateColumns, shape.value_size - column),
            .state = scratch,
            .rows = scratch + shape.key_size * kStateColumns,
            .query = RowsOf(operands.query, sample, reader / shape.sharers * shape.key_size),
            .key = RowsOf(operands.key, sample, h / shape.key_sharers * shape.key_size),
            .value = RowsOf(operands.value, sample, h * shape.value_size + column),
            .decay = RowsOf(operands.decay, sample, shape.decay_per_key ? h * shape.key_size : h),
            .decay_per_key = shape.decay_per_key,
            .beta = RowsOf(operands.beta, sample, shape.beta_per_head ? h : 0),
            .readers = shape.readers,
            .output = operands.output + sample * shape.tokens * width + reader * shape.value_size +
                      column,
            .output_stride = width,
            .output_step = shape.value_size,
            .scale = static_cast<float>(shape.scale)};
  }

  // `from`: the block's place in a state [key_size, width]; null: zeros.
  static void LoadState(const StateBlock& block, int64_t width, const float* from) {
    std::fill_n(block.state, block.key_size * kStateColumns, 0.0F);
    for (int64_t d = 0; from != nullptr && d < block.key_size; ++d) {
      std::copy_n(from + d * width, block.columns, block.state + d * kStateColumns);
    }
  }

  static void StoreState(const StateBlock& block, int64_t width, bool holds_state, float* to) {
    for (int64_t d = 0; d < block.key_size; ++d) {
      if (holds_state) {
        std::copy_n(block.state + d * kStateColumns, block.columns, to + d * width);
      } else {
        std::fill_n(to + d * width, block.columns, 0.0F);
      }
    }
  }

  const LinearAttentionAttributes attributes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> LinearAttention::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<LinearAttentionKernel>(attributes_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
