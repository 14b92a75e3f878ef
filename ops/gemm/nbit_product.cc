// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_product.h"

#include <algorithm>
#include <vector>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "hwy/aligned_allocator.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/nbit_integer_rows.h"
#include "ops/gemm/nbit_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {
namespace {

// The least number of elements of A, or of multiplications, per range: some microseconds.
constexpr int64_t kLeastRounded = 1 << 15;
constexpr int64_t kLeastMultiplied = 1 << 19;

// A row of A, dense: in place, or in `copy`.
const float* DenseRow(const MatrixView& a, int64_t row, hwy::AlignedVector<float>& copy) {
  if (a.column_stride == 1) return a.at(row, 0);
  copy.resize(a.columns);
  CopyBlock(a, row, 1, 0, a.columns, copy.data(), a.columns);
  return copy.data();
}

// Rounds all rows; returns those that have to be multiplied in floats, in order.
std::vector<int64_t> RoundRows(const MatrixView& a, const IntegerRows& to) {
  Scratch scratch;
  auto* const fits = scratch.AtLeast<uint8_t>(a.rows);
  ParallelFor(a.rows, DivCeil(kLeastRounded, a.columns + 1), [&](int64_t begin, int64_t end) {
    hwy::AlignedVector<float> copy;
    for (int64_t row = begin; row < end; ++row) {
      fits[row] = to.Round(DenseRow(a, row, copy), row) ? 1 : 0;
    }
  });
  std::vector<int64_t> floats;
  for (int64_t row = 0; row < a.rows; ++row) {
    if (fits[row] == 0) floats.push_back(row);
  }
  return floats;
}

// Multiplies all rows by the panels [begin, end).
void MultiplyPanelRange(const GemmProblem& problem, const NBitPanels& b, const IntegerRows& rounded,
                        absl::Span<const int64_t> floats, IndexRange panels) {
  const int64_t rows = problem.a.rows;
  const uint8_t* const last = b.panel(panels.begin).data + panels.size() * b.panel_bytes();
  hwy::AlignedVector<float> copy;
  for (int64_t index = panels.begin; index < panels.end; ++index) {
    if (Interrupted()) return;
    const int64_t column = index * PanelWidth();
    const int64_t columns = std::min(PanelWidth(), problem.b.columns - column);
    float* const c = problem.c + column;
    rounded.Multiply(b.panel(index), last, c, problem.ldc, columns);
    for (const int64_t row : floats) {
      MultiplyFewRows({DenseRow(problem.a, row, copy), 0, 1, b.panel(index), 1,
                       c + row * problem.ldc, problem.ldc, columns, DepthBlocks(problem.a.columns),
                       last});
    }
    ApplyEpilogue(problem, {0, rows}, column, columns);
  }
}

void MultiplyIntegers(NBitActivations activations, const MatrixView& a, const NBitPanels& b,
                      float* c, int64_t ldc, const Epilogue& epilogue) {
  if (a.rows == 0) return;
  GemmProblem problem = {a, {}, c, ldc, epilogue};
  problem.b.columns = b.columns();
  const IntegerRows rounded(activations, a.rows, b.format());
  const std::vector<int64_t> floats = RoundRows(a, rounded);
  // A few rows cost the time to read B.
  const int64_t work = (a.rows + 15) * (a.columns + 1) * PanelWidth();
  ParallelFor(b.num_panels(), DivCeil(kLeastMultiplied, work), [&](int64_t begin, int64_t end) {
    MultiplyPanelRange(problem, b, rounded, floats, {begin, end});
  });
}

}  // namespace

NBitActivations ActivationsFor(Precision precision, const NBitPanels& b) {
  if (precision == Precision::kInt8Activations && Supports(NBitActivations::kInt8, b)) {
    return NBitActivations::kInt8;
  }
  const bool has_vnni = ThisCpu().avx512 && ThisCpu().vnni;
  return has_vnni && Supports(NBitActivations::kBlockFloat, b) ? NBitActivations::kBlockFloat
                                                               : NBitActivations::kFloat;
}

bool Supports(NBitActivations activations, const NBitPanels& b) {
  if (activations == NBitActivations::kFloat) return true;
  if (b.format().bits != 4) return false;
  return activations == NBitActivations::kInt8 ||
         (b.format().block <= kMostBlockFloats && b.format().has_plain_scales);
}

absl::string_view NBitGemmName(NBitActivations activations) {
  switch (activations) {
    case NBitActivations::kFloat:
      return "gemm nbit";
    case NBitActivations::kBlockFloat:
      return "gemm nbit, block floating point";
    case NBitActivations::kInt8:
      return "gemm nbit, int8 activations";
  }
  return "gemm nbit";
}

void NBitGemm(NBitActivations activations, const MatrixView& a, const NBitPanels& b, float* c,
              int64_t ldc, const Epilogue& epilogue) {
  if (activations == NBitActivations::kFloat) return Gemm(a, b, c, ldc, epilogue);
  MultiplyIntegers(activations, a, b, c, ldc, epilogue);
}

}  // namespace attnrun::ops
