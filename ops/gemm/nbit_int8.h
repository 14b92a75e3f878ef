// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_INT8_H_
#define ATTNRUN_OPS_GEMM_NBIT_INT8_H_

#include <cstdint>

#include "ops/gemm/gemm.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/nbit_panels.h"

namespace attnrun::ops {

// True if GemmInt8 takes this weight: codes of 4 bits.
bool SupportsInt8(const NBitPanels& b);

// True if products of this weight round A in a session of this precision.
bool RoundsActivations(Precision precision, const NBitPanels& b);

// The name of a product for the profile.
absl::string_view NBitGemmName(bool rounds);

// As Gemm, with A rounded to 8 bits in the blocks of B: see RoundRow and MultiplyRounded. A row of
// C depends on its row of A alone, and its bits not on the number of threads or the instruction
// set. Precondition: SupportsInt8.
void GemmInt8(const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
              const Epilogue& epilogue);

// GemmInt8 if `rounds`, else Gemm.
void NBitGemm(bool rounds, const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
              const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_INT8_H_
