#include "ops/matmul/gemm.h"

#include <algorithm>
#include <numeric>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "hwy/aligned_allocator.h"
#include "ops/matmul/micro_kernel.h"

namespace attnrun {
namespace {

// A block of A (kRowBlock x kDepthBlock) stays in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 256;
constexpr int64_t kDepthBlock = 384;
// From so many rows on a panel of B that is not packed is copied before it is used.
constexpr int64_t kRowsThatRepayPacking = 32;
// From so many rows on a block of A whose rows collide in the cache is copied.
constexpr int64_t kRowsThatRepayCopying = 17;
// Keeps the rows of a copied block of A in different sets of the cache: one line.
constexpr int64_t kPadding = 16;

int64_t DivCeil(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

Range Part(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// Blocks of K as even as possible; at least one, as an empty sum is 0.
int64_t DepthBlocks(int64_t depth) { return std::max<int64_t>(DivCeil(depth, kDepthBlock), 1); }

// What a thread copies blocks into that the micro-kernel cannot read in place.
float* Scratch(hwy::AlignedFreeUniquePtr<float[]>& buffer, int64_t size) {
  if (buffer == nullptr) buffer = hwy::AllocateAligned<float>(size);
  return buffer.get();
}
float* ScratchForA() {
  thread_local hwy::AlignedFreeUniquePtr<float[]> buffer;
  return Scratch(buffer, kRowBlock * (kDepthBlock + kPadding));
}
float* ScratchForB() {
  thread_local hwy::AlignedFreeUniquePtr<float[]> buffer;
  return Scratch(buffer, 2 * kDepthBlock * PanelWidth());
}

// Whether rows so far apart share so few sets of the first-level cache (64 lines of 64 bytes a way)
// that a tile's rows evict each other.
bool Collide(int64_t stride) {
  constexpr int64_t kWay = 4096;
  constexpr int64_t kFewestPositions = 8;
  return std::gcd(stride * static_cast<int64_t>(sizeof(float)), kWay) > kWay / kFewestPositions;
}

// Whether blocks of A, so many rows high, are copied before they are used.
bool IsCopied(const MatrixView& a, int64_t rows) {
  return a.column_stride != 1 || (rows >= kRowsThatRepayCopying && Collide(a.row_stride));
}

// Sets A of `product` to a block of `a`; what is copied has at most kRowBlock rows.
void SetA(PanelProduct& product, const MatrixView& a, Range rows, Range depth) {
  product.rows = rows.size();
  product.k = depth.size();
  product.a = a.at(rows.begin, depth.begin);
  product.lda = a.row_stride;
  if (!IsCopied(a, rows.size())) return;
  float* scratch = ScratchForA();
  product.a = scratch;
  product.lda = depth.size() + kPadding;
  CopyBlock(a, rows.begin, rows.size(), depth.begin, depth.size(), scratch, product.lda);
}

// Sets B of `product`, whose columns are set, to the rows `depth` of the panels from `index` on.
void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, Range depth) {
  product.b = b.panel(index) + depth.begin * PanelWidth();
  product.ldb = PanelWidth();
  product.panel_stride = b.rows() * PanelWidth();
  product.padded = true;
}

// Whether panels of B are copied before they are used.
bool IsCopied(const GemmProblem& problem, int64_t rows) {
  return problem.b_source != nullptr || problem.b.column_stride != 1 ||
         rows >= kRowsThatRepayPacking;
}

// As above, for a B that is not packed.
void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, Range depth) {
  const int64_t width = PanelWidth();
  const int64_t first = index * width;
  if (!IsCopied(problem, product.rows)) {
    product.b = problem.b.at(depth.begin, first);
    product.ldb = problem.b.row_stride;
    product.panel_stride = width;
    product.padded = false;
    return;
  }
  float* const scratch = ScratchForB();
  product.b = scratch;
  product.ldb = width;
  product.panel_stride = depth.size() * width;
  product.padded = true;
  for (int64_t column = 0; column < product.columns; column += width) {
    float* const to = scratch + column / width * product.panel_stride;
    const int64_t columns = std::min(width, product.columns - column);
    if (problem.b_source != nullptr) {
      problem.b_source->Copy(depth.begin, depth.size(), first + column, columns, to, width);
    } else {
      CopyBlock(problem.b, depth.begin, depth.size(), first + column, columns, to, width);
    }
  }
}

// Adds the residual to a tile of C that was just written.
void AddResidual(const PanelProduct& tile, int64_t row, int64_t column, const Epilogue& epilogue) {
  const MatrixView& residual = epilogue.residual;
  for (int64_t i = 0; i < tile.rows; ++i) {
    const float* from = residual.at(row + i, column);
    float* to = tile.c + i * tile.ldc;
    if (residual.column_stride == 0) {
      const float addend = epilogue.residual_scale * *from;
      for (int64_t j = 0; j < tile.columns; ++j) to[j] += addend;
      continue;
    }
    for (int64_t j = 0; j < tile.columns; ++j) {
      to[j] += epilogue.residual_scale * from[j * residual.column_stride];
    }
  }
}

// One thread's share of one product: some rows, some panels. `b` is the PackedMatrix, or the
// problem itself.
template <typename B>
void MultiplyShare(const GemmProblem& problem, const B& b, Range share, Range panels,
                   int64_t row_block) {
  const MatrixView& a = problem.a;
  const Epilogue& epilogue = problem.epilogue;
  const int64_t blocks = DepthBlocks(a.columns);
  PanelProduct product{};
  product.ldc = problem.ldc;
  for (int64_t row = share.begin; row < share.end; row += row_block) {
    for (int64_t block = 0; block < blocks; ++block) {
      const Range depth = Part(a.columns, block, blocks);
      SetA(product, a, {row, std::min(row + row_block, share.end)}, depth);
      if (Interrupted()) return;
      const bool last = block + 1 == blocks;
      product.accumulate = block > 0;
      product.scale = last ? epilogue.scale : 1;
      product.activation = last ? epilogue.activation : Activation::kNone;
      for (int64_t index = panels.begin; index < panels.end; index += 2) {
        const int64_t column = index * PanelWidth();
        const int64_t columns = std::min(index + 2, panels.end) * PanelWidth() - column;
        product.columns = std::min(columns, problem.b.columns - column);
        SetB(product, b, index, depth);
        product.c = problem.c + row * problem.ldc + column;
        product.bias = last && epilogue.bias != nullptr ? epilogue.bias + column : nullptr;
        MultiplyPanels(product);
        if (last && epilogue.residual.data != nullptr) AddResidual(product, row, column, epilogue);
      }
    }
  }
}

// How one product is cut into equal shares: rows x panels.
struct Grid {
  int64_t row_parts = 1;
  int64_t panel_parts = 1;
  int64_t size() const { return row_parts * panel_parts; }
};

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
  ParallelFor(grid.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      MultiplyShare(problem, b, Part(a.rows, share / grid.panel_parts, grid.row_parts),
                    Part(b.num_panels(), share % grid.panel_parts, grid.panel_parts), kRowBlock);
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
      const GemmProblem p = problem(share / grid.size());
      const int64_t part = share % grid.size();
      const Range share_rows = Part(rows, part / grid.panel_parts, grid.row_parts);
      // A panel that is copied serves all rows at once, unless A goes through scratch space, too.
      const bool all_rows = !IsCopied(p.a, share_rows.size()) && IsCopied(p, share_rows.size());
      MultiplyShare(p, p, share_rows, Part(panels, part % grid.panel_parts, grid.panel_parts),
                    all_rows ? std::max<int64_t>(share_rows.size(), 1) : kRowBlock);
    }
  });
}

}  // namespace attnrun
