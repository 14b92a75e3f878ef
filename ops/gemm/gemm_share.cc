// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_share.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/micro_kernel.h"

namespace attnrun::ops {
namespace {

// The rows of B in the given blocks, of `count` in all.
IndexRange DepthOf(int64_t depth, IndexRange blocks, int64_t count) {
  const DepthParts parts(depth, count);
  return {parts.Begin(blocks.begin), parts.Begin(blocks.end)};
}

// How a share is cut: rows and blocks of K per pass, and whether blocks of A are copied and rounded
// to bf16.
struct Blocking {
  int64_t rows;
  int64_t depth_blocks;
  bool copies_a;
  bool rounds_a;
};

// Some rows and panels, and a part of the sum over K that consists of `count` blocks.
struct Block {
  IndexRange rows;
  IndexRange panels;
  IndexRange depth;
  int64_t count;
  bool first;
  bool last;
  bool copies_a;
  bool rounds_a;
};

// `scratch` holds the copy of A, if there is one.
PanelProduct Begin(const GemmProblem& problem, const Block& block, Scratch& scratch) {
  PanelProduct product{};
  product.ldc = problem.ldc;
  product.segments = product.segments_per_block = 1;
  product.blocks = block.count;
  product.accumulate = !block.first;
  product.scale = block.last ? problem.epilogue.scale : 1;
  product.activation = block.last ? problem.epilogue.activation : Activation();
  SetA(product, problem.a, block.rows, block.depth, block.copies_a, scratch);
  if (block.rounds_a) RoundA(product);
  return product;
}

// Sets the members that depend on the column where the product begins.
void SetColumn(PanelProduct& product, const GemmProblem& problem, const Block& block,
               int64_t column) {
  const float* bias = problem.epilogue.bias;
  product.c = problem.c + block.rows.begin * problem.ldc + column;
  product.bias = block.last && bias != nullptr ? bias + column : nullptr;
  if (block.last) product.residual = ResidualAt(problem.epilogue, block.rows.begin, column);
}

bool RoundsA(const PackedMatrix& b) { return RoundsToBf16(b.format()); }
bool RoundsA(const NBitPanels& /*b*/) { return false; }

// The part of B that the thread reads after a block; an empty depth means none.
struct Next {
  int64_t panel = 0;
  IndexRange depth = {0, 0};
};

// True if a product reads copies of panels, which have just been written and are in cache.
bool ReadsCopies(const PackedMatrix& b) { return b.format() != WeightFormat::kFloat32; }
bool ReadsCopies(const NBitPanels& /*b*/) { return true; }
bool ReadsCopies(const GemmProblem& /*b*/) { return false; }

// Sets the memory to prefetch, if panels are read in place.
void SetNext(PanelProduct& product, const PackedMatrix& b, const Next& next) {
  product.next = nullptr;
  product.next_bytes = 0;
  if (ReadsCopies(b)) return;
  if (next.depth.size() == 0 || next.panel >= b.num_panels()) return;
  product.next = b.panel(next.panel) + next.depth.begin * PanelWidth();
  product.next_bytes = next.depth.size() * PanelWidth() * static_cast<int64_t>(sizeof(float));
}
// The codes of the next panels come from memory while the tiles of these read copies.
void SetNext(PanelProduct& product, const NBitPanels& b, const Next& next) {
  product.next = nullptr;
  product.next_bytes = 0;
  const int64_t panels = std::min<int64_t>(b.num_panels() - next.panel, 2);
  if (next.depth.size() != b.format().rows || panels <= 0) return;
  product.next = reinterpret_cast<const float*>(b.panel(next.panel).data);
  product.next_bytes = panels * b.panel_bytes();
}
// Nothing to prefetch: copies are in cache, and a B read in place is not contiguous.
void SetNext(PanelProduct& /*product*/, const GemmProblem& /*b*/, const Next& /*next*/) {}

// Multiplies a block. `b` is the packed B, or the problem itself.
template <typename B>
void MultiplyBlock(const GemmProblem& problem, const B& b, const Block& block, const Next& next) {
  // The panel that this thread prefetched last, maybe for the previous share.
  thread_local const float* fetched = nullptr;
  Scratch a_scratch;
  Scratch b_scratch;
  PanelProduct product = Begin(problem, block, a_scratch);
  for (int64_t index = block.panels.begin; index < block.panels.end; index += 2) {
    const int64_t column = index * PanelWidth();
    const int64_t columns = std::min(index + 2, block.panels.end) * PanelWidth() - column;
    product.columns = std::min(columns, problem.b.columns - column);
    SetB(product, b, index, block.depth, b_scratch);
    SetColumn(product, problem, block, column);
    SetNext(product, b, index + 2 < block.panels.end ? Next{index + 2, block.depth} : next);
    product.fetched = ReadsCopies(b) || product.b == fetched;
    MultiplyPanels(product);
    fetched = product.next;
  }
}

// Multiplies a share: all panels by one block of rows and blocks of K, then by the next.
template <typename B>
void MultiplyBlocks(const GemmProblem& problem, const B& b, const Share& share,
                    const Blocking& blocking) {
  const int64_t count = DepthBlocks(problem.a.columns);
  const int64_t passes = DivCeil(count, blocking.depth_blocks);
  const auto depth_of = [&](int64_t pass) {
    return DepthOf(problem.a.columns, Part(count, pass % passes, passes), count);
  };
  for (int64_t row = share.rows.begin; row < share.rows.end; row += blocking.rows) {
    const IndexRange rows = {row, std::min(row + blocking.rows, share.rows.end)};
    for (int64_t pass = 0; pass < passes; ++pass) {
      if (Interrupted()) return;
      const bool last = pass + 1 == passes;
      const int64_t blocks = Part(count, pass, passes).size();
      const Block block = {rows,      share.panels, depth_of(pass),    blocks,
                           pass == 0, last,         blocking.copies_a, blocking.rounds_a};
      // The thread's next share most often begins with the panels that follow.
      const bool ends = last && rows.end == share.rows.end;
      const int64_t next_panel = ends ? share.panels.end : share.panels.begin;
      MultiplyBlock(problem, b, block, Next{next_panel, depth_of(pass + 1)});
    }
  }
}

template <typename B>
void MultiplyPacked(const GemmProblem& problem, const B& b, const Share& share) {
  const int64_t rows = std::max<int64_t>(share.rows.size(), 1);
  // Blocks of about equal size, in whole tiles.
  const int64_t blocks = DivCeil(rows, kRowBlock);
  const int64_t row_block = DivCeil(DivCeil(rows, blocks), kTileRows) * kTileRows;
  const bool copied = RoundsA(b) || CopiesA(problem.a, share.panels.size());
  MultiplyBlocks(problem, b, share,
                 {row_block, DepthBlocksPerPass(row_block, copied), copied, RoundsA(b)});
}

bool HasNoEffect(const Epilogue& epilogue) {
  return epilogue.scale == 1 && epilogue.bias == nullptr && epilogue.residual.data == nullptr &&
         !epilogue.activation;
}

// For at most StreamedRows() rows: dequantizes codes in registers, for up to kFewRows rows at a
// time. The codes of a panel come from memory for the first of them, and from cache for the others.
void MultiplyStreamedShare(const GemmProblem& problem, const NBitPanels& b, const Share& share) {
  const Block block = {share.rows, share.panels, {0, problem.a.columns},       1,
                       false,      true,         problem.a.column_stride != 1, false};
  Scratch scratch;
  const PanelProduct sums = Begin(problem, block, scratch);
  const uint8_t* const end =
      b.panel(share.panels.begin).data + share.panels.size() * b.panel_bytes();
  const EvenParts parts(sums.rows, DivCeil(sums.rows, kFewRows));
  const int64_t step = sums.rows <= kFewRows ? 2 : 1;
  for (int64_t index = share.panels.begin; index < share.panels.end; index += step) {
    if (Interrupted()) return;
    const int64_t column = index * PanelWidth();
    const int64_t panels = std::min<int64_t>(share.panels.end - index, step);
    PanelProduct product = sums;
    product.columns = std::min(panels * PanelWidth(), problem.b.columns - column);
    SetColumn(product, problem, block, column);
    for (int64_t row = 0, part = 0; row < sums.rows; row += parts[part++]) {
      MultiplyFewRows({sums.a + row * sums.lda, sums.lda, parts[part], b.panel(index), panels,
                       product.c + row * product.ldc, product.ldc, product.columns,
                       DepthBlocks(problem.a.columns), end});
    }
    ApplyEpilogue(problem, share.rows, column, product.columns);
  }
}

}  // namespace

TileResidual ResidualAt(const Epilogue& epilogue, int64_t row, int64_t column) {
  const MatrixView& residual = epilogue.residual;
  if (residual.data == nullptr) return {};
  return {residual.at(row, column), residual.row_stride, residual.column_stride,
          epilogue.residual_scale};
}

void ApplyEpilogue(const GemmProblem& problem, IndexRange rows, int64_t column, int64_t columns) {
  if (HasNoEffect(problem.epilogue)) return;
  const Block block = {rows, {}, {0, 0}, 1, false, true, false, false};
  // A product with K = 0 leaves the sums unchanged.
  Scratch scratch;
  PanelProduct product = Begin(problem, block, scratch);
  product.columns = columns;
  product.padded = true;
  SetColumn(product, problem, block, column);
  MultiplyPanels(product);
}

void MultiplyShare(const GemmProblem& problem, const PackedMatrix& b, const Share& share) {
  MultiplyPacked(problem, b, share);
}

void MultiplyShare(const GemmProblem& problem, const NBitPanels& b, const Share& share) {
  if (share.rows.size() == 0) return;
  if (share.rows.size() <= StreamedRows(b.format().bits)) {
    return MultiplyStreamedShare(problem, b, share);
  }
  MultiplyPacked(problem, b, share);
}

void MultiplyShare(const GemmProblem& problem, const Share& share) {
  // A copied panel serves all rows at once, unless A goes through scratch space, too.
  const int64_t rows = std::max<int64_t>(share.rows.size(), 1);
  const bool copied = CopiesA(problem.a, share.panels.size());
  const bool all_rows = !copied && CopiesB(problem, rows);
  MultiplyBlocks(problem, problem, share, {all_rows ? rows : kRowBlock, 1, copied, false});
}

}  // namespace attnrun::ops
