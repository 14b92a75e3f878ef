// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_KERNEL_H_
#define ATTNRUN_OPS_GEMM_NBIT_KERNEL_H_

#include <cstdint>

namespace attnrun::ops {

// The layout of the panels of NBitPanels, W = PanelWidth() columns wide. For every block of K: W
// scales; W zero points as floats, unless they are left out; then words of 32 bits, W by W, each
// with the codes of 32 / bits neighbours along K of one column, low bits first. The last block is
// stored whole, though K may end within it.
struct NBitFormat {
  int bits = 4;
  // Neighbours along K that share a scale: a power of two, at least 16.
  int64_t block = 32;
  int64_t rows = 0;
  // If false, zero points are 2^(bits - 1), and every scale is 0 or neither tiny nor huge.
  bool has_zero_points = false;
  // True if scales are 0 or within 2^-40 and 2^60, and zero points at most 2^8.
  bool has_plain_scales = false;
  // Bytes from block to block, and from panel to panel.
  int64_t block_bytes = 0;
  int64_t panel_bytes = 0;

  int codes_per_word() const { return 32 / bits; }
};

struct NBitPanel {
  const NBitFormat& format;
  const uint8_t* data;
};

// Writes the rows [begin, end) of a panel as floats, PanelWidth() per row: (code - zero point) *
// scale, rounded once.
void Dequantize(const NBitPanel& panel, int64_t begin, int64_t end, float* to);

// Some rows of A times two consecutive panels, or one.
struct FewRowsProduct {
  // [rows, K], `lda` floats between rows; at most kFewRows rows.
  const float* a;
  int64_t lda;
  int64_t rows;
  NBitPanel panel;
  int64_t panels;
  // [rows, columns], `ldc` floats between rows.
  float* c;
  int64_t ldc;
  int64_t columns;
  // K is summed in this many blocks, as in a PanelProduct.
  int64_t blocks;
  // The end of the memory that the thread reads from panel.data on, in this product and the next
  // ones: prefetches go no further.
  const uint8_t* end;
};
constexpr int64_t kFewRows = 4;

// The most rows for which it pays to call MultiplyFewRows for some rows after the others, rather
// than to write floats that all rows read. Looking codes of 4 bits up in registers, as with
// AVX-512, costs little beside four rows; with AVX2 dequantizing takes as long as a row.
int64_t StreamedRows(int bits);

// C = A·B, with the same bits as MultiplyPanels on the floats of Dequantize.
void MultiplyFewRows(const FewRowsProduct& product);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_KERNEL_H_
