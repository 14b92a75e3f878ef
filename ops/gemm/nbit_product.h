// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_PRODUCT_H_
#define ATTNRUN_OPS_GEMM_NBIT_PRODUCT_H_

#include "absl/strings/string_view.h"
#include "attnrun/precision.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/nbit_panels.h"

namespace attnrun::ops {

// How a product with an n-bit weight takes the elements of A.
enum class NBitActivations {
  // As floats: Gemm.
  kFloat,
  // As integers of 24 bits with a power of two for each block of the weight: see SplitRow. As
  // accurate as floats, and faster on processors with VNNI. Rows that cannot be split go as floats.
  kBlockFloat,
  // Rounded to integers of 8 bits with a scale for each block: see RoundRow.
  kInt8,
};

// The way for products of this weight in a session of this precision, on this machine.
NBitActivations ActivationsFor(Precision precision, const NBitPanels& b);

// True if NBitGemm takes this weight in this way: all do as floats, those with codes of 4 bits in 8
// bits, and of these in block floating point if their blocks are short and their scales neither
// tiny nor huge.
bool Supports(NBitActivations activations, const NBitPanels& b);

// The name of a product for the profile.
absl::string_view NBitGemmName(NBitActivations activations);

// As Gemm. A row of C depends on its row of A alone, and its bits not on the number of threads or
// the instruction set. Precondition: Supports.
void NBitGemm(NBitActivations activations, const MatrixView& a, const NBitPanels& b, float* c,
              int64_t ldc, const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_PRODUCT_H_
