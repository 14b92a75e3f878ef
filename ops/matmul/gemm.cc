#include "ops/matmul/gemm.h"

#include <algorithm>
#include <numeric>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "ops/matmul/gemm_share.h"
#include "ops/matmul/micro_kernel.h"

namespace attnrun {
namespace {

// How one product is cut into equal shares: rows x panels.
struct Grid {
  int64_t row_parts = 1;
  int64_t panel_parts = 1;
  int64_t size() const { return row_parts * panel_parts; }
};

Share ShareOf(const Grid& grid, int64_t index, int64_t rows, int64_t panels) {
  return {Part(rows, index / grid.panel_parts, grid.row_parts),
          Part(panels, index % grid.panel_parts, grid.panel_parts)};
}

// The cut into `parts` shares whose largest is least; of equals, the one that reads the fewest
// panels in each.
Grid BestGrid(int64_t rows, int64_t panels, int64_t parts) {
  Grid best;
  int64_t least = rows * panels;
  for (int64_t row_parts = 1; row_parts <= parts; ++row_parts) {
    if (parts % row_parts != 0) continue;
    const int64_t panel_parts = parts / row_parts;
    const int64_t largest = DivCeil(rows, row_parts) * DivCeil(panels, panel_parts);
    if (largest < least) {
      least = largest;
      best = {row_parts, panel_parts};
    }
  }
  return best;
}

// Shares worth a thread of their own: below about 2^19 multiplications (some microseconds) waking
// it costs more. A few rows cost as much as sixteen, the time to read B.
int64_t WorthwhileParts(int64_t rows, int64_t depth, int64_t columns, int64_t count) {
  constexpr double kLeast = 1 << 19;
  const double work = static_cast<double>(rows + 15) * depth * columns * count;
  return static_cast<int64_t>(std::clamp(work / kLeast, 1.0, static_cast<double>(NumThreads())));
}

}  // namespace

void Gemm(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
          const Epilogue& epilogue) {
  GemmProblem problem = {a, {}, c, ldc, epilogue};
  problem.b.columns = b.columns();
  const int64_t parts = WorthwhileParts(a.rows, a.columns, b.columns(), 1);
  const Grid grid = BestGrid(a.rows, b.num_panels(), parts);
  const Kernels kernels = FindKernels(a, ldc);
  ParallelFor(grid.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      MultiplyShare(problem, b, ShareOf(grid, share, a.rows, b.num_panels()), kernels);
    }
  });
}

void BatchedGemm(int64_t count, absl::FunctionRef<GemmProblem(int64_t)> problem) {
  if (count == 0) return;
  const GemmProblem first = problem(0);
  const int64_t rows = first.a.rows;
  const int64_t panels = DivCeil(first.b.columns, PanelWidth());
  const int64_t threads = WorthwhileParts(rows, first.a.columns, first.b.columns, count);
  // Many products spread evenly enough by themselves.
  const int64_t parts = count >= 4 * threads ? 1 : threads / std::gcd(count, threads);
  const Grid grid = BestGrid(rows, panels, parts);
  const int64_t shares = count * grid.size();
  ParallelFor(shares, DivCeil(shares, threads), [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      MultiplyShare(problem(share / grid.size()), ShareOf(grid, share % grid.size(), rows, panels));
    }
  });
}

}  // namespace attnrun
