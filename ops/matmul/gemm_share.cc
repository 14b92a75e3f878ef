#include "ops/matmul/gemm_share.h"

#include <algorithm>

#include "core/interrupt.h"
#include "ops/matmul/micro_kernel.h"

namespace attnrun {
namespace {

// Rows that oneDNN's micro-kernels take at once. The rest, and the last panel if it is not full, go
// to our own, which need not be generated for every shape.
constexpr int64_t kTall = kRowBlock;
constexpr int64_t kLow = 16;

// Blocks of K as even as possible; at least one, as an empty sum is 0.
int64_t DepthBlocks(int64_t depth) {
  return std::max<int64_t>((depth + kDepthBlock - 1) / kDepthBlock, 1);
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
    if (block.last && problem.epilogue.residual.data != nullptr) {
      AddResidual(product, block.rows.begin, column, problem.epilogue);
    }
  }
}

// With oneDNN's: the panels are full, the rows a multiple of kLow.
void MultiplyBlock(const GemmProblem& problem, const PackedMatrix& b, const Block& block,
                   const BlockKernels& kernels) {
  PanelProduct tile = WithEpilogue(problem, block);
  tile.columns = PanelWidth();
  for (int64_t index = block.panels.begin; index < block.panels.end; ++index) {
    const float* panel = b.panel(index) + block.depth.begin * PanelWidth();
    SetColumn(tile, problem, block, index * PanelWidth());
    for (int64_t row = block.rows.begin; row < block.rows.end; row += tile.rows) {
      const bool tall = block.rows.end - row >= kTall && kernels.tall != nullptr;
      tile.rows = tall ? kTall : kLow;
      (tall ? kernels.tall : kernels.low)
          ->Multiply(problem.a.at(row, block.depth.begin), panel, tile.c);
      if (block.last) {
        FinishTile(tile);
        if (problem.epilogue.residual.data != nullptr) {
          AddResidual(tile, row, index * PanelWidth(), problem.epilogue);
        }
      }
      tile.c += tile.rows * tile.ldc;
    }
  }
}

// With oneDNN's micro-kernels where there are any for these rows, the rest with our own.
void MultiplyBlock(const GemmProblem& problem, const PackedMatrix& b, const Block& block,
                   const Kernels& kernels, int64_t index) {
  if (kernels.empty() || kernels[index].low == nullptr) return MultiplyBlock(problem, b, block);
  const int64_t middle = block.rows.begin + block.rows.size() / kLow * kLow;
  const int64_t full = std::min(block.panels.end, problem.b.columns / PanelWidth());
  Block part = block;
  part.rows.end = middle;
  part.panels.end = std::max(full, block.panels.begin);
  MultiplyBlock(problem, b, part, kernels[index]);
  part.panels = {part.panels.end, block.panels.end};
  MultiplyBlock(problem, b, part);
  part = block;
  part.rows.begin = middle;
  MultiplyBlock(problem, b, part);
}

// Calls `multiply(block, index)` on all blocks of a share, `index` counting along K.
template <typename Multiply>
void ForEachBlock(const GemmProblem& problem, const Share& share, int64_t row_block,
                  Multiply multiply) {
  const int64_t count = DepthBlocks(problem.a.columns);
  for (int64_t row = share.rows.begin; row < share.rows.end; row += row_block) {
    const Range rows = {row, std::min(row + row_block, share.rows.end)};
    for (int64_t i = 0; i < count; ++i) {
      if (Interrupted()) return;
      multiply(Block{rows, share.panels, Part(problem.a.columns, i, count), i == 0, i + 1 == count},
               i);
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
    shape.rows = kTall;
    kernels[i].tall = Brgemm::Get(shape);
  }
  return kernels;
}

void MultiplyShare(const GemmProblem& problem, const PackedMatrix& b, const Share& share,
                   const Kernels& kernels) {
  ForEachBlock(problem, share, kRowBlock, [&](const Block& block, int64_t index) {
    MultiplyBlock(problem, b, block, kernels, index);
  });
}

void MultiplyShare(const GemmProblem& problem, const Share& share) {
  // A panel that is copied serves all rows at once, unless A goes through scratch space, too.
  const int64_t rows = share.rows.size();
  const bool all_rows = !CopiesA(problem.a, rows) && CopiesB(problem, rows);
  ForEachBlock(problem, share, all_rows ? std::max<int64_t>(rows, 1) : kRowBlock,
               [&](const Block& block, int64_t) { MultiplyBlock(problem, problem, block); });
}

}  // namespace attnrun
