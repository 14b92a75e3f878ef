// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "ops/gemm/bf16_amx.h"
#include "ops/gemm/float32_amx.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/int8_weight.h"
#include "ops/gemm/micro_kernel.h"

namespace attnrun::ops {
namespace {

// How one product is cut into shares: rows x panels. Rows are cut at multiples of `row_unit`.
struct Grid {
  int64_t row_parts = 1;
  int64_t panel_parts = 1;
  int64_t row_unit = 1;
  int64_t size() const { return row_parts * panel_parts; }
};

Share ShareOf(const Grid& grid, int64_t index, int64_t rows, int64_t panels) {
  const IndexRange units =
      Part(DivCeil(rows, grid.row_unit), index / grid.panel_parts, grid.row_parts);
  return {{units.begin * grid.row_unit, std::min(units.end * grid.row_unit, rows)},
          Part(panels, index % grid.panel_parts, grid.panel_parts)};
}

// An estimate of the memory traffic of a grid, in columns of A and B read by all shares: B is read
// once per block of rows.
int64_t Traffic(const Grid& grid, int64_t rows, int64_t panels) {
  const int64_t blocks = DivCeil(DivCeil(rows, grid.row_parts), kRowBlock) * grid.row_parts;
  return rows * grid.panel_parts + blocks * panels * PanelWidth();
}

// The grid of `parts` shares whose largest share is smallest, in whole tiles; among equals, the one
// with least traffic.
Grid BestGrid(int64_t rows, int64_t panels, int64_t parts) {
  Grid best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t row_parts = 1; row_parts <= parts; ++row_parts) {
    if (parts % row_parts != 0) continue;
    const Grid grid = {row_parts, parts / row_parts};
    const int64_t tiles = DivCeil(DivCeil(rows, row_parts), kTileRows);
    const int64_t largest = tiles * DivCeil(panels, grid.panel_parts);
    if (largest > least) continue;
    if (largest == least && Traffic(grid, rows, panels) >= Traffic(best, rows, panels)) continue;
    least = largest;
    best = grid;
  }
  return best;
}

// Cuts every share into about `parts`, first between the blocks of rows that kernels multiply at
// once, then between panels.
Grid Cut(Grid grid, int64_t rows, int64_t panels, int64_t parts) {
  const int64_t blocks = rows / grid.row_parts / kRowBlock;
  if (blocks > 1) {
    const int64_t row_parts = std::min(blocks, parts);
    grid.row_parts *= row_parts;
    grid.row_unit = kRowBlock;
    parts = DivCeil(parts, row_parts);
  }
  grid.panel_parts *= std::min(parts, std::max<int64_t>(panels / grid.panel_parts, 1));
  return grid;
}

// The number of parts of at least `least` multiplications in `count` products, at most `at_most`. A
// few rows cost as much as sixteen: the time to read B.
int64_t WorthwhileParts(const GemmProblem& problem, int64_t count, int64_t least, int64_t at_most) {
  const double work =
      static_cast<double>(problem.a.rows + 15) * problem.a.columns * problem.b.columns * count;
  return static_cast<int64_t>(std::clamp(work / least, 1.0, static_cast<double>(at_most)));
}

// The least number of multiplications per thread: below it (some microseconds) waking a thread
// costs more than it gains.
constexpr int64_t kLeastPerThread = 1 << 19;
// The least number of multiplications per share: enough that a micro-kernel reuses its tiles of A
// and B often.
constexpr int64_t kLeastPerShare = 1 << 21;

// Multiplies by a packed B of either format.
template <typename B>
void MultiplyPacked(const MatrixView& a, const B& b, float* c, int64_t ldc,
                    const Epilogue& epilogue) {
  GemmProblem problem = {a, {}, c, ldc, epilogue};
  problem.b.columns = b.columns();
  const int64_t threads = WorthwhileParts(problem, 1, kLeastPerThread, NumThreads());
  Grid grid = BestGrid(a.rows, b.num_panels(), threads);
  if (threads > 1) {
    const int64_t parts = WorthwhileParts(problem, 1, kLeastPerShare * threads, kRangesPerThread);
    grid = Cut(grid, a.rows, b.num_panels(), parts);
  }
  ParallelFor(grid.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      MultiplyShare(problem, b, ShareOf(grid, share, a.rows, b.num_panels()));
    }
  });
}

}  // namespace

void Gemm(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
          const Epilogue& epilogue) {
  if (b.format() == WeightFormat::kBfloat16Tiles) {
    return Bf16GemmOnAmx({a}, b, {c, nullptr, ldc}, epilogue);
  }
  if (b.format() == WeightFormat::kFloat32Tiles) return Float32GemmOnAmx(a, b, c, ldc, epilogue);
  if (IsInt8(b.format())) return RoundedGemm(a, b, c, ldc, epilogue);
  MultiplyPacked(a, b, c, ldc, RoundsToBf16(b.format()) ? AfterRounding(epilogue) : epilogue);
}

void Gemm(const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
          const Epilogue& epilogue) {
  MultiplyPacked(a, b, c, ldc, epilogue);
}

absl::string_view GemmName(const PackedMatrix* b) {
  if (b == nullptr) return "gemm";
  switch (b->format()) {
    case WeightFormat::kFloat32:
      return "gemm packed";
    case WeightFormat::kFloat16:
      return "gemm packed, float16 weights";
    case WeightFormat::kBfloat16:
      return "gemm packed, bfloat16 weights";
    case WeightFormat::kBfloat16Products:
      return "gemm packed, bf16";
    case WeightFormat::kBfloat16Tiles:
      return "gemm packed, bf16 AMX";
    case WeightFormat::kInt8Pairs:
      return "gemm packed, int8";
    case WeightFormat::kInt8Vnni:
      return "gemm packed, int8 VNNI";
    case WeightFormat::kInt8Tiles:
      return "gemm packed, int8 AMX";
    case WeightFormat::kFloat32Tiles:
      return "gemm packed, float32 AMX";
  }
  return "gemm packed";
}

Precision GemmPrecision(const PackedMatrix* b) {
  if (b == nullptr) return Precision::kFloat32;
  if (IsInt8(b->format())) return Precision::kInt8;
  return RoundsToBf16(b->format()) ? Precision::kBfloat16 : Precision::kFloat32;
}

void BatchedGemm(int64_t count, absl::FunctionRef<GemmProblem(int64_t)> problem) {
  if (count == 0) return;
  const GemmProblem first = problem(0);
  const int64_t rows = first.a.rows;
  const int64_t panels = DivCeil(first.b.columns, PanelWidth());
  const int64_t threads = WorthwhileParts(first, count, kLeastPerThread, NumThreads());
  // Many products balance the load by themselves.
  const int64_t parts = count >= 4 * threads ? 1 : threads / std::gcd(count, threads);
  const Grid grid = BestGrid(rows, panels, parts);
  const int64_t shares = count * grid.size();
  const int64_t per_thread =
      WorthwhileParts(first, count, kLeastPerShare * threads, kRangesPerThread);
  ParallelFor(shares, DivCeil(shares, threads * per_thread), [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      MultiplyShare(problem(share / grid.size()), ShareOf(grid, share % grid.size(), rows, panels));
    }
  });
}

}  // namespace attnrun::ops
