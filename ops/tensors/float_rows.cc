// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/float_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/half.h"

namespace attnrun::ops {

bool IsFloatOrHalf(DataType type) {
  return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

void ReadFloats(const Tensor& in, int64_t begin, int64_t n, float* out) {
  if (in.type() == DataType::kFloat) {
    std::memcpy(out, in.data<float>() + begin, n * sizeof(float));
  } else if (in.type() == DataType::kFloat16) {
    WidenFloat16(in.data<uint16_t>() + begin, n, out);
  } else {
    WidenBf16(in.data<uint16_t>() + begin, n, out);
  }
}

void WriteFloats(const float* in, int64_t n, Tensor& out, int64_t begin) {
  if (out.type() == DataType::kFloat) {
    std::memcpy(out.mutable_data<float>() + begin, in, n * sizeof(float));
  } else if (out.type() == DataType::kFloat16) {
    NarrowToFloat16(in, n, out.mutable_data<uint16_t>() + begin);
  } else {
    NarrowToBf16(in, n, out.mutable_data<uint16_t>() + begin);
  }
}

absl::StatusOr<Tensor> AsFloat(const Tensor& in, Allocator& allocator) {
  if (in.type() == DataType::kFloat) return in;
  if (!IsFloatOrHalf(in.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(in));
    return FromDoubles(DataType::kFloat, in.shape(), numbers, allocator);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DataType::kFloat, in.shape(), allocator));
  ReadFloats(in, 0, in.num_elements(), out.mutable_data<float>());
  return out;
}

absl::Status ParallelForWithScratch(int64_t count, int64_t grain, int64_t scratch_floats,
                                    Allocator& allocator,
                                    absl::FunctionRef<void(int64_t, int64_t, float*)> body) {
  if (count <= 0) return absl::OkStatus();
  const int64_t ranges = NumRanges(count, grain);
  const int64_t workers = std::min<int64_t>(ranges, NumThreads());
  // The scratch of each worker starts at a cache line.
  const int64_t stride = (scratch_floats + 15) / 16 * 16;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scratch,
                           Tensor::Allocate(DataType::kFloat, {workers, stride}, allocator));
  auto* floats = scratch.mutable_data<float>();
  std::atomic<int64_t> next = 0;
  ParallelFor(workers, 1, [&](int64_t worker, int64_t) {
    for (int64_t i = next++; i < ranges; i = next++) {
      body(count * i / ranges, count * (i + 1) / ranges, floats + worker * stride);
    }
  });
  return absl::OkStatus();
}

absl::Status ForEachFloatRow(const Tensor& x, int64_t length, Tensor& y, Allocator& allocator,
                             absl::FunctionRef<void(int64_t, const float*, float*)> body) {
  if (x.num_elements() == 0) return absl::OkStatus();
  constexpr int64_t kElementsPerPiece = 16384;
  const int64_t rows = x.num_elements() / length;
  const int64_t grain = kElementsPerPiece / length + 1;
  const bool in_place = x.type() == DataType::kFloat;
  const bool out_place = y.type() == DataType::kFloat;
  auto piece = [&](int64_t begin, int64_t end, float* scratch) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * length;
      const float* in = in_place ? x.data<float>() + first : scratch;
      float* out = out_place ? y.mutable_data<float>() + first : scratch;
      if (!in_place) ReadFloats(x, first, length, scratch);
      body(row, in, out);
      if (!out_place) WriteFloats(scratch, length, y, first);
    }
  };
  return ParallelForWithScratch(rows, grain, in_place && out_place ? 0 : length, allocator, piece);
}

}  // namespace attnrun::ops
