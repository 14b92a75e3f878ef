// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/amx_gemm.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// Bytes of A that are packed at once and then multiplied by all panels: a quarter of the
// second-level cache of the processors that have AMX (2 MB), which also holds C, sums and the
// panels in use. Up to half of it for 128 rows, since B is read again for the next rows.
constexpr int64_t kBytesAtOnce = 1 << 19;
constexpr int64_t kMostBytesAtOnce = 1 << 20;
constexpr int64_t kWorthwhilePairs = 4;
// Steps of K for which all rows are multiplied before the next ones: a panel's part of 24 KB, which
// fits the first-level cache, so that only A comes from the second level. A core then reaches 57 %
// of its peak for 512 rows, instead of 44 % with all of K = 768 at once.
constexpr int64_t kMostSteps = 12;
constexpr int64_t kLine = 64;
// Bytes of the first panel that are prefetched.
constexpr int64_t kFirstPanelBytes = 64 << 10;
// The number of bytes that are worth packing on a thread of its own.
constexpr int64_t kLeastPerFill = 1 << 15;
// The number of bytes of B, times blocks of rows, worth handing to a thread.
constexpr int64_t kLeastPerRange = 1 << 17;

// Rows of A that are packed.
struct PackedRows {
  const uint8_t* blocks;
  // Rows of A.
  int64_t first;
  int64_t count;
};

class TileProduct {
 public:
  TileProduct(const AmxMatrix& b, const AmxTarget& target,
              absl::FunctionRef<void(const AmxSums&)> finish)
      : b_(b), target_(target), finish_(finish), panels_(DivCeil(b.columns, kAmxPanelWidth)) {}

  // Multiplies the rows of `a`.
  void Run(const PackedRows& a) const {
    const int64_t work = std::max<int64_t>(PanelBytes() * DivCeil(a.count, kAmxRows), 1);
    ParallelFor(panels_, DivCeil(kLeastPerRange, work), [&](int64_t begin, int64_t end) {
      const AmxScope scope;
      for (int64_t panel = begin; panel < end && !Interrupted(); ++panel) RunPanel(a, panel);
    });
  }

  // Prefetches a part of the panel with which the thread that packs blocks [begin, end) of `count`
  // will begin: it would wait for that panel alone, since nothing is multiplied before it.
  void PrefetchPanelAt(int64_t begin, int64_t end, int64_t count) const {
    const int64_t threads = NumThreads();
    const int64_t thread = begin * threads / count;
    const uint8_t* const panel = b_.panels + panels_ * thread / threads * PanelBytes();
    // The thread's share of the blocks, as far as this range goes.
    const int64_t share = DivCeil(count, threads);
    const int64_t bytes = std::min(PanelBytes(), kFirstPanelBytes);
    const int64_t from = std::min((begin - thread * count / threads) * bytes / share, bytes);
    const int64_t to = std::min((end - thread * count / threads) * bytes / share, bytes);
    for (int64_t at = std::max<int64_t>(from, 0); at < to; at += kLine) {
      __builtin_prefetch(panel + at, 0, 2);
    }
  }

 private:
  int64_t PanelBytes() const { return b_.panel_bytes; }

  // All rows of `a` times one panel.
  void RunPanel(const PackedRows& a, int64_t panel) const {
    const int64_t blocks = DivCeil(a.count, kAmxRows);
    Scratch scratch;
    auto* const sums = scratch.AtLeast<uint32_t>(blocks * kAmxRows * kAmxPanelWidth);
    const int64_t num_parts = std::max<int64_t>(DivCeil(b_.steps, kMostSteps), 1);
    const EvenParts parts(b_.steps, num_parts);
    const int64_t products = DivCeil(blocks, 2) * b_.steps;
    AmxProduct product = {};
    product.a_stride = b_.steps * kAmxTileBytes;
    product.ldc = kAmxPanelWidth;
    product.next = b_.panels + (panel + 1) * PanelBytes();
    if (panel + 1 < panels_ && products > 0) {
      product.lines = DivCeil(DivCeil(PanelBytes(), kAmxStepBytes), products);
    }
    for (int64_t part = 0; part < num_parts; ++part) {
      const int64_t step = parts.Begin(part);
      product.b = b_.panels + panel * PanelBytes() + step * kAmxPanelBytes;
      product.steps = parts[part];
      product.accumulate = part > 0;
      for (int64_t block = 0; block < blocks; block += 2) {
        product.a = a.blocks + block * product.a_stride + step * kAmxTileBytes;
        product.blocks = static_cast<int>(std::min<int64_t>(2, blocks - block));
        product.sums = sums + block * kAmxRows * kAmxPanelWidth;
        if (part + 1 == num_parts) SetTarget(a, panel, block, product);
        MultiplyTiles(b_.type, product);
        product.next += product.lines * product.steps * kAmxStepBytes;
        if (part + 1 == num_parts) Finish(a, panel, block, product.sums);
      }
    }
  }

  void SetTarget(const PackedRows& a, int64_t panel, int64_t block, AmxProduct& product) const {
    const int64_t row = a.first + block * kAmxRows;
    product.target = static_cast<uint8_t*>(target_.data) +
                     (row * target_.ldc + panel * kAmxPanelWidth) * target_.element_bytes;
    product.target_stride = target_.ldc * target_.element_bytes;
    if (target_.residual.data != nullptr) {
      product.residual =
          reinterpret_cast<const uint8_t*>(target_.residual.at(row, panel * kAmxPanelWidth));
      product.residual_stride = target_.residual.row_stride * static_cast<int64_t>(sizeof(float));
    }
    product.target_rows = DivCeil(2 * kAmxRows, std::max<int64_t>(product.steps, 1));
  }

  void Finish(const PackedRows& a, int64_t panel, int64_t block, void* sums) const {
    const int64_t row = block * kAmxRows;
    const int64_t column = panel * kAmxPanelWidth;
    finish_({a.first + row, std::min(2 * kAmxRows, a.count - row), column,
             std::min(kAmxPanelWidth, b_.columns - column), sums});
  }

  const AmxMatrix& b_;
  const AmxTarget& target_;
  const absl::FunctionRef<void(const AmxSums&)> finish_;
  const int64_t panels_;
};

// Rows of A that are packed at once, of `all` blocks of 16: about equal parts, in pairs of blocks.
int64_t BlocksAtOnce(int64_t all, int64_t block_bytes) {
  const int64_t pairs = DivCeil(all, 2);
  const int64_t few = std::min(kWorthwhilePairs, kMostBytesAtOnce / block_bytes / 2);
  const int64_t most = std::max<int64_t>({kBytesAtOnce / block_bytes / 2, few, 1});
  return 2 * DivCeil(pairs, std::max<int64_t>(DivCeil(pairs, most), 1));
}

// Packs blocks [first, first + blocks) of A, of which `rows` is the number of rows.
void Fill(FillAmxRows fill, int64_t rows, int64_t first, int64_t blocks, int64_t block_bytes,
          uint8_t* packed) {
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t row = (first + block) * kAmxRows;
    fill(row, std::min(kAmxRows, rows - row), packed + block * block_bytes);
  }
}

}  // namespace

void AmxGemm(int64_t rows, const AmxMatrix& b, const AmxTarget& target, FillAmxRows fill,
             absl::FunctionRef<void(const AmxSums&)> finish) {
  const int64_t block_bytes = std::max<int64_t>(b.steps * kAmxTileBytes, 1);
  const int64_t all_blocks = DivCeil(rows, kAmxRows);
  const TileProduct multiplication(b, target, finish);
  const int64_t at_once = BlocksAtOnce(all_blocks, block_bytes);
  Scratch scratch;
  auto* const packed = scratch.AtLeast<uint8_t>(std::min(at_once, all_blocks) * block_bytes);
  for (int64_t first = 0; first < all_blocks; first += at_once) {
    const int64_t blocks = std::min(at_once, all_blocks - first);
    ParallelFor(blocks, DivCeil(kLeastPerFill, block_bytes), [&](int64_t begin, int64_t end) {
      multiplication.PrefetchPanelAt(begin, end, blocks);
      Fill(fill, rows, first + begin, end - begin, block_bytes, packed + begin * block_bytes);
    });
    const int64_t row = first * kAmxRows;
    multiplication.Run({packed, row, std::min(blocks * kAmxRows, rows - row)});
  }
}

SumsBlock BlockOf(const AmxSums& sums, const Epilogue& epilogue) {
  SumsBlock block = {};
  block.sums = sums.sums;
  block.ld = kAmxPanelWidth;
  block.rows = sums.rows;
  block.columns = sums.columns;
  block.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + sums.column;
  block.activation = epilogue.activation;
  block.residual = ResidualAt(epilogue, sums.row, sums.column);
  return block;
}

}  // namespace attnrun::ops
