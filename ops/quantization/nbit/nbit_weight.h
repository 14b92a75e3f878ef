// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_NBIT_NBIT_WEIGHT_H_
#define ATTNRUN_OPS_QUANTIZATION_NBIT_NBIT_WEIGHT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "core/div_ceil.h"
#include "ops/gemm/nbit_panels.h"

namespace attnrun::ops {

// A weight W [K, N] with
//   W(k, n) = (code(n, k) - zero_point(n, k / block_size)) * scale(n, k / block_size).
// codes of `bits` bits: uint8 [N, blocks, block_size * bits / 8], low bits first, with blocks =
// ceil(K / block_size); scales: float, float16 or bfloat16 [N, blocks], perhaps flattened;
// zero_points: packed like codes into uint8 [N, ceil(blocks * bits / 8)], or floats [N, blocks], or
// undefined, which means 2^(bits - 1).
struct NBitWeight {
  int64_t k = 0;
  int64_t n = 0;
  int64_t bits = 0;
  int64_t block_size = 0;
  Tensor codes;
  Tensor scales;
  Tensor zero_points;

  int64_t blocks() const { return DivCeil(k, block_size); }

  // kInvalidArgument unless all members fit together.
  absl::Status Check() const;
  // The zero points as numbers [N, blocks]; empty if there are none. Precondition: Check.
  absl::StatusOr<std::vector<double>> ZeroPoints() const;
  // The elements of W, column by column. Precondition: Check.
  absl::StatusOr<std::vector<double>> Columns() const;

 private:
  absl::Status CheckNumbers() const;
  absl::Status CheckZeroPoints() const;
};

// The error "expected WHAT[..], but it is uint8[..]".
absl::Status ExpectedShape(absl::string_view what, const Shape& shape, const Tensor& found);

// Packs weights side by side, or takes them from the store, which may be null. Precondition: Check
// of each; all have the same K, bits and block_size.
absl::StatusOr<std::shared_ptr<const NBitPanels>> PackSideBySide(
    absl::Span<const NBitWeight> weights, PackedStore* store);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_NBIT_NBIT_WEIGHT_H_
