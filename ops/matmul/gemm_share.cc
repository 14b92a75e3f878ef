#include "ops/matmul/gemm_share.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "ops/matmul/micro_kernel.h"

namespace attnrun {
namespace {

// Rows that oneDNN's micro-kernels take at once. The rest, and the last panel if it is not full, go
// to our own, which need not be generated for every shape.
constexpr int64_t kTall = kRowBlock;
constexpr int64_t kLow = 16;

// Blocks of K as even as possible; at least one, as an empty sum is 0.
int64_t DepthBlocks(int64_t depth) { return std::max<int64_t>(DivCeil(depth, kDepthBlock), 1); }

// What is added to the tile of C that begins there.
TileResidual ResidualOf(const GemmProblem& problem, int64_t row, int64_t column) {
  const MatrixView& residual = problem.epilogue.residual;
  if (residual.data == nullptr) return {};
  return {residual.at(row, column), residual.row_stride, residual.column_stride,
          problem.epilogue.residual_scale};
}

// A block of the sum over K, for some rows and panels.
struct Block {
  Range rows;
  Range panels;
  Range depth;
  bool first;
  bool last;
};

// What the epilogue does in the product's own pass over C, which is all but the residual.
PanelProduct WithEpilogue(const GemmProblem& problem, const Block& block) {
  PanelProduct product{};
  product.ldc = problem.ldc;
  product.accumulate = !block.first;
  product.scale = block.last ? problem.epilogue.scale : 1;
  product.activation = block.last ? problem.epilogue.activation : Activation::kNone;
  return product;
}

// Sets what depends on the column where the product begins.
void SetColumn(PanelProduct& product, const GemmProblem& problem, const Block& block,
               int64_t column) {
  const float* bias = problem.epilogue.bias;
  product.c = problem.c + block.rows.begin * problem.ldc + column;
  product.bias = block.last && bias != nullptr ? bias + column : nullptr;
}

// With our own micro-kernel. `b` is the PackedMatrix, or the problem itself.
template <typename B>
void MultiplyBlock(const GemmProblem& problem, const B& b, const Block& block) {
  if (block.rows.size() == 0) return;
  PanelProduct product = WithEpilogue(problem, block);
  SetA(product, problem.a, block.rows, block.depth);
  for (int64_t index = block.panels.begin; index < block.panels.end; index += 2) {
    const int64_t column = index * PanelWidth();
    const int64_t columns = std::min(index + 2, block.panels.end) * PanelWidth() - column;
    product.columns = std::min(columns, problem.b.columns - column);
    SetB(product, b, index, block.depth);
    SetColumn(product, problem, block, column);
    MultiplyPanels(product);
    if (block.last) AddResidual(product, ResidualOf(problem, block.rows.begin, column));
  }
}

// With oneDNN's: the panel is full, the rows a multiple of kLow.
void MultiplyPanel(const GemmProblem& problem, const float* panel, const Block& block,
                   const BlockKernels& kernels) {
  const int64_t column = block.panels.begin * PanelWidth();
  PanelProduct tile = WithEpilogue(problem, block);
  tile.columns = PanelWidth();
  SetColumn(tile, problem, block, column);
  for (int64_t row = block.rows.begin; row < block.rows.end; row += tile.rows) {
    const bool tall = block.rows.end - row >= kTall && kernels.tall != nullptr;
    tile.rows = tall ? kTall : kLow;
    (tall ? kernels.tall : kernels.low)
        ->Multiply(problem.a.at(row, block.depth.begin), panel, tile.c);
    if (block.last) FinishTile(tile, ResidualOf(problem, row, column));
    tile.c += tile.rows * tile.ldc;
  }
}

// With oneDNN's micro-kernels what is whole tiles of theirs, the rest with our own.
void MultiplyBlock(const GemmProblem& problem, const PackedMatrix& b, const Block& block,
                   const BlockKernels& kernels) {
  const bool full = (block.panels.begin + 1) * PanelWidth() <= problem.b.columns;
  if (!full) return MultiplyBlock(problem, b, block);
  Block part = block;
  part.rows.end -= block.rows.size() % kLow;
  const float* panel = b.panel(block.panels.begin) + block.depth.begin * PanelWidth();
  MultiplyPanel(problem, panel, part, kernels);
  part.rows = {part.rows.end, block.rows.end};
  MultiplyBlock(problem, b, part);
}

// Calls `multiply` on all blocks of a share: all panels at once, one block of K after another.
template <typename Multiply>
void ForEachBlock(const GemmProblem& problem, const Share& share, int64_t row_block,
                  Multiply multiply) {
  const int64_t count = DepthBlocks(problem.a.columns);
  for (int64_t row = share.rows.begin; row < share.rows.end; row += row_block) {
    const Range rows = {row, std::min(row + row_block, share.rows.end)};
    for (int64_t i = 0; i < count; ++i) {
      if (Interrupted()) return;
      multiply(
          Block{rows, share.panels, Part(problem.a.columns, i, count), i == 0, i + 1 == count});
    }
  }
}

// Calls `multiply(block, index)` on all blocks of a share, of one panel each and `index` counting
// along K. As many blocks of K as leave those of A in the second-level cache follow each other, so
// that a tile of C is fetched once for all of them. All panels are read again for every block of
// rows, so some more rows than kRowBlock stay together.
template <typename Multiply>
void ForEachPanel(const GemmProblem& problem, const Share& share, Multiply multiply) {
  const int64_t count = DepthBlocks(problem.a.columns);
  const int64_t row_block = share.rows.size() <= kMostRows ? share.rows.size() : kRowBlock;
  const int64_t per_pass = DepthBlocksPerPass(row_block);
  const int64_t passes = DivCeil(count, per_pass);
  for (int64_t row = share.rows.begin; row < share.rows.end; row += row_block) {
    const Range rows = {row, std::min(row + row_block, share.rows.end)};
    for (int64_t pass = 0; pass < passes; ++pass) {
      if (Interrupted()) return;
      const Range blocks = Part(count, pass, passes);
      for (int64_t index = share.panels.begin; index < share.panels.end; ++index) {
        for (int64_t i = blocks.begin; i < blocks.end; ++i) {
          multiply(Block{rows,
                         {index, index + 1},
                         Part(problem.a.columns, i, count),
                         i == 0,
                         i + 1 == count},
                   i);
        }
      }
    }
  }
}

}  // namespace

Kernels FindKernels(const MatrixView& a, int64_t ldc) {
  if (a.rows < kLow || a.columns == 0 || a.column_stride != 1) return {};
  const int64_t count = DepthBlocks(a.columns);
  const auto depth = [&](int64_t i) { return Part(a.columns, i, count).size(); };
  Kernels kernels(count);
  for (int64_t i = 0; i < count; ++i) {
    // Most blocks are as the one before; looking one up takes a lock.
    if (i > 1 && depth(i) == depth(i - 1)) {
      kernels[i] = kernels[i - 1];
      continue;
    }
    BrgemmShape shape = {kLow, PanelWidth(), depth(i), a.row_stride, PanelWidth(), ldc, i > 0};
    kernels[i].low = Brgemm::Get(shape);
    if (kernels[i].low == nullptr) return {};
    shape.rows = kTall;
    kernels[i].tall = Brgemm::Get(shape);
  }
  return kernels;
}

void MultiplyShare(const GemmProblem& problem, const PackedMatrix& b, const Share& share,
                   const Kernels& kernels) {
  if (kernels.empty()) {
    return ForEachBlock(problem, share, kRowBlock,
                        [&](const Block& block) { MultiplyBlock(problem, b, block); });
  }
  ForEachPanel(problem, share, [&](const Block& block, int64_t index) {
    MultiplyBlock(problem, b, block, kernels[index]);
  });
}

void MultiplyShare(const GemmProblem& problem, const Share& share) {
  // A panel that is copied serves all rows at once, unless A goes through scratch space, too.
  const int64_t rows = share.rows.size();
  const bool all_rows = !CopiesA(problem.a, rows) && CopiesB(problem, rows);
  ForEachBlock(problem, share, all_rows ? std::max<int64_t>(rows, 1) : kRowBlock,
               [&](const Block& block) { MultiplyBlock(problem, problem, block); });
}

}  // namespace attnrun
