// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_PANELS_H_
#define ATTNRUN_OPS_GEMM_NBIT_PANELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/gemm/nbit_kernel.h"
#include "ops/gemm/packed_store.h"

namespace attnrun::ops {

// A weight [K, N] as codes of 2, 4 or 8 bits, each standing for (code - zero point) * scale;
// `block` neighbours along K share scale and zero point. Stored by column, as in
// com.microsoft.MatMulNBits: codes are uint8 [N, ceil(K / block), block * bits / 8], low bits
// first; scales and zero points are float [N, ceil(K / block)]. Null zero points: all are 2^(bits -
// 1).
struct NBitColumns {
  int bits = 4;
  int64_t block = 32;
  int64_t rows = 0;
  int64_t columns = 0;
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* zero_points = nullptr;

  int64_t blocks() const { return (rows + block - 1) / block; }
  int64_t bytes_per_block() const { return block * bits / 8; }
};

// Such a weight, or several side by side, cut into panels of PanelWidth() columns like
// PackedMatrix, but still as codes: see NBitFormat. Products have the same bits as those of the
// dequantized floats.
class NBitPanels {
 public:
  // Precondition: at least one part, and all have the same bits, block and rows.
  // kResourceExhausted as Allocator says. Live panels of equal contents share their bytes,
  // whichever nodes, models or sessions they belong to.
  static absl::StatusOr<std::shared_ptr<const NBitPanels>> Pack(
      const std::vector<NBitColumns>& parts);

  // A weight of these bits, block, rows and columns from a store's bytes; null if these are not as
  // long as it is.
  static std::shared_ptr<const NBitPanels> Read(const NBitColumns& weight,
                                                const PackedBytes& bytes);
  // As a store keeps it.
  PackedBytes bytes() const;
  // True for equal bits, block, rows and columns.
  bool HasExtentsOf(const NBitPanels& other) const;

  const NBitFormat& format() const { return format_; }
  int64_t rows() const { return format_.rows; }
  int64_t columns() const { return columns_; }
  int64_t num_panels() const;
  NBitPanel panel(int64_t index) const;
  // Bytes from panel to panel.
  int64_t panel_bytes() const { return format_.panel_bytes; }

 private:
  // Without bytes.
  NBitPanels(const NBitColumns& weight, bool has_zero_points);
  int64_t byte_size() const;
  void PackPanel(const std::vector<NBitColumns>& parts, int64_t index, uint8_t* to) const;

  NBitFormat format_;
  int64_t columns_ = 0;
  Tensor data_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_PANELS_H_
