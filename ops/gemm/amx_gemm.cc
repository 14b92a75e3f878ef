// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/amx_gemm.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/gemm/amx_float32_panels.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {
namespace {

// Bytes of A, and of the sums of its rows, that are packed at once and then multiplied by all
// panels: as many as leave room in the second-level cache of the processors that have AMX (2 MB)
// for C and the panels in use, since B is read again for the next rows. With K = 3072, 208 rows at
// once are as fast as 128, and 256 are slower.
constexpr int64_t kBytesAtOnce = 21 << 16;
// Blocks of 16 rows that are packed at once, at most. Each panel writes 32 columns of all of their
// rows of C: the lines, and the pages, of more rows are lost before the next panel writes the
// columns beside them. 3600 rows with a residual, K = 128 and N = 512, take 1.8 times as long at
// once as in parts of 256.
constexpr int64_t kMostBf16Blocks = 16;
// With K = 768, 512 rows take 1.25 times as long in parts of 256 as in parts of 128.
constexpr int64_t kMostFloatBlocks = 8;
// Steps of K for which all rows are multiplied before the next ones: a panel's part of 32 KB, which
// fits the first-level cache, so that only A comes from the second level.
constexpr int64_t kMostSteps = 16;
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

// The product of the packed rows of A and B, which all threads share.
struct TileProduct {
  const AmxMatrix& b;
  const AmxOutput output;
  PackedRows a = {};

  // Bytes of 16 rows of A.
  int64_t BlockBytes() const { return std::max<int64_t>(b.steps * b.pieces() * kAmxTileBytes, 1); }
  int64_t Panels() const { return DivCeil(b.columns, kAmxPanelWidth); }
  int64_t Blocks() const { return DivCeil(a.count, kAmxRows); }
  const uint8_t* Panel(int64_t panel) const { return b.panels + panel * b.panel_bytes; }
};

// Hands out panels to threads, as runs of adjacent ones. Thread t begins with the t-th of the first
// runs, which are most of the panels: then it is known which ones to prefetch for it, and what it
// wrote for one product is in its cache for the next. Short runs follow, for threads that are
// early.
class PanelQueue {
 public:
  PanelQueue(int64_t panels, int threads)
      : panels_(panels),
        threads_(threads),
        first_run_(threads == 1 ? panels : DivCeil(panels * 3, int64_t{threads} * 4)),
        run_(DivCeil(first_run_, kShortRuns)),
        next_(first_run_ * threads) {}

  int64_t panels() const { return panels_; }
  int threads() const { return threads_; }
  IndexRange FirstRun(int64_t thread) const {
    return {thread * first_run_, (thread + 1) * first_run_};
  }
  IndexRange TakeRun() {
    const int64_t begin = next_.fetch_add(run_, std::memory_order_relaxed);
    return {begin, begin + run_};
  }

 private:
  static constexpr int64_t kShortRuns = 12;

  const int64_t panels_;
  const int threads_;
  const int64_t first_run_;
  const int64_t run_;
  std::atomic<int64_t> next_;
};

// The panels that one thread multiplies. The sums of a panel go to C while the next panel is
// multiplied, since the two keep different units busy.
class PanelWorker final : private AmxCompanion {
 public:
  PanelWorker(const TileProduct& product, PanelQueue& queue, int64_t thread)
      : p_(product), queue_(queue), blocks_(product.Blocks()), run_(queue.FirstRun(thread)) {
    const int64_t numbers = blocks_ * kAmxRows * kAmxPanelWidth;
    sums_ = scratch_.AtLeast<uint32_t>(2 * numbers);
    other_sums_ = sums_ + numbers;
    // A piece takes some rows to C.
    const int64_t steps = std::max<int64_t>(DivCeil(blocks_, 2) * p_.b.steps, 1);
    piece_rows_ = DivCeil(p_.a.count, steps);
    SetInterval(std::max<int64_t>(steps / DivCeil(p_.a.count, piece_rows_), 1));
    if (p_.b.type == AmxType::kFloat32) floats_.emplace(p_.b.steps);
  }

  void Run() {
    const AmxScope scope;
    for (int64_t panel = Take(); panel < queue_.panels() && !Interrupted();) {
      const int64_t following = Take();
      Multiply(panel, following);
      FinishRest();
      FinishNext(panel);
      panel = following;
    }
    FinishRest();
  }

 private:
  // Rows of C that are prefetched ahead of those that are written.
  static constexpr int64_t kRowsAhead = 16;

  // The next panel, or one beyond the last.
  int64_t Take() {
    if (run_.begin == run_.end) run_ = queue_.TakeRun();
    return run_.begin++;
  }

  // All rows times one panel.
  void Multiply(int64_t panel, int64_t following) {
    const bool is_last = following >= queue_.panels();
    AmxProduct product = {};
    product.a = p_.a.blocks;
    product.a_stride = p_.BlockBytes();
    product.ldc = kAmxPanelWidth;
    product.companion = this;
    if (floats_.has_value()) {
      return floats_->Multiply(product, p_.a.count, Floats(panel),
                               is_last ? nullptr : Floats(following),
                               reinterpret_cast<float*>(sums_));
    }
    const int64_t products = DivCeil(blocks_, 2) * p_.b.steps;
    if (!is_last && products > 0) {
      product.next = p_.Panel(following);
      product.lines = DivCeil(DivCeil(p_.b.panel_bytes, kLine), products);
    }
    MultiplyParts(panel, product);
  }

  const float* Floats(int64_t panel) const {
    return reinterpret_cast<const float*>(p_.Panel(panel));
  }

  void MultiplyParts(int64_t panel, AmxProduct product) {
    const int64_t num_parts = std::max<int64_t>(DivCeil(p_.b.steps, kMostSteps), 1);
    const EvenParts parts(p_.b.steps, num_parts);
    for (int64_t part = 0; part < num_parts; ++part) {
      const int64_t step = parts.Begin(part);
      product.b = p_.Panel(panel) + step * kAmxPanelBytes;
      product.steps = parts[part];
      product.accumulate = part > 0;
      for (int64_t block = 0; block < blocks_; block += 2) {
        product.a = p_.a.blocks + block * product.a_stride + step * kAmxTileBytes;
        product.blocks = static_cast<int>(std::min<int64_t>(2, blocks_ - block));
        product.sums = sums_ + block * kAmxRows * kAmxPanelWidth;
        MultiplyTiles(p_.b.type, product);
        product.next += product.lines * product.steps * kLine;
      }
    }
  }

  // The sums of a panel are complete, and go to C from now on.
  void FinishNext(int64_t panel) {
    const int64_t column = panel * kAmxPanelWidth;
    block_ = p_.output(
        {p_.a.first, p_.a.count, column, std::min(kAmxPanelWidth, p_.b.columns - column), sums_});
    row_ = 0;
    std::swap(sums_, other_sums_);
    for (int64_t row = 0; row < std::min(kRowsAhead, block_.rows); ++row) PrefetchRow(row);
  }

  void DoPiece() override {
    if (row_ >= block_.rows) return;
    const int64_t end = std::min(row_ + piece_rows_, block_.rows);
    for (int64_t row = row_ + kRowsAhead; row < std::min(end + kRowsAhead, block_.rows); ++row) {
      PrefetchRow(row);
    }
    FinishRows(block_, row_, end);
    row_ = end;
  }

  void FinishRest() {
    if (row_ < block_.rows) FinishRows(block_, row_, block_.rows);
    row_ = block_.rows;
  }

  void PrefetchRow(int64_t row) const {
    if (block_.bf16_c != nullptr) return PrefetchForWrite(block_.bf16_c + row * block_.ldc);
    if (block_.integer_c != nullptr) return PrefetchForWrite(block_.integer_c + row * block_.ldc);
    PrefetchForWrite(block_.c + row * block_.ldc);
    const TileResidual& residual = block_.residual;
    if (residual.data == nullptr || residual.row_stride == 0) return;
    const float* const from = residual.data + row * residual.row_stride;
    __builtin_prefetch(from);
    __builtin_prefetch(from + kAmxPanelWidth / 2);
  }

  template <typename T>
  static void PrefetchForWrite(T* row) {
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + kAmxPanelWidth - 1, 1);
  }

  const TileProduct& p_;
  PanelQueue& queue_;
  const int64_t blocks_;
  // The panels that this thread has taken and not begun.
  IndexRange run_;
  Scratch scratch_;
  // The sums of the panel that is multiplied, and of the one before: [rows, kAmxPanelWidth].
  uint32_t* sums_;
  uint32_t* other_sums_;
  // The panel before, whose rows from `row_` on are not in C yet.
  SumsBlock block_ = {};
  int64_t row_ = 0;
  int64_t piece_rows_;
  // For floats.
  std::optional<FloatPanels> floats_;
};

// Threads that multiply `blocks` blocks of 16 rows by B.
int ThreadsFor(const AmxMatrix& b, int64_t blocks) {
  const int64_t work = DivCeil(b.columns, kAmxPanelWidth) * b.panel_bytes * blocks;
  return static_cast<int>(std::clamp<int64_t>(DivCeil(work, kLeastPerRange), 1, NumThreads()));
}

void Multiply(const TileProduct& product, PanelQueue& queue) {
  ParallelFor(queue.threads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) PanelWorker(product, queue, thread).Run();
  });
}

// Prefetches a part of the panel with which a thread will begin, beside the packing of blocks
// [begin, end) of `count`: it would wait for that panel alone, since nothing is multiplied before.
void PrefetchFirstPanel(const TileProduct& product, const PanelQueue& queue, IndexRange blocks,
                        int64_t count) {
  const int64_t thread = blocks.begin * queue.threads() / count;
  const int64_t first = queue.FirstRun(thread).begin;
  if (first >= queue.panels()) return;
  const uint8_t* const panel = product.Panel(first);
  // The thread's share of the blocks, as far as this range goes.
  const int64_t share = DivCeil(count, queue.threads());
  const int64_t before = thread * count / queue.threads();
  const int64_t bytes = std::min(product.b.panel_bytes, kFirstPanelBytes);
  const int64_t from = std::min((blocks.begin - before) * bytes / share, bytes);
  const int64_t to = std::min((blocks.end - before) * bytes / share, bytes);
  for (int64_t at = std::max<int64_t>(from, 0); at < to; at += kLine) {
    __builtin_prefetch(panel + at, 0, 2);
  }
}

int64_t MostBlocks(AmxType type) {
  switch (type) {
    case AmxType::kFloat32:
      return kMostFloatBlocks;
    case AmxType::kBf16:
      return kMostBf16Blocks;
    case AmxType::kUint8Int8:
      break;
  }
  // Some products of int8 take longer in parts.
  return std::numeric_limits<int64_t>::max();
}

// Rows of A that are packed at once, of `all` blocks of 16: all, or about equal parts, in pairs of
// blocks.
int64_t BlocksAtOnce(int64_t all, const TileProduct& product) {
  constexpr int64_t kSums = 2 * kAmxRows * kAmxPanelWidth * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::clamp<int64_t>(kBytesAtOnce / (product.BlockBytes() + kSums), 2,
                                           MostBlocks(product.b.type));
  if (all <= most) return all;
  return 2 * DivCeil(all, 2 * DivCeil(all, most / 2 * 2));
}

// Packs blocks [first, first + blocks) of A, of which `rows` is the number of rows.
void Fill(FillAmxRows fill, int64_t rows, int64_t first, int64_t blocks, int64_t block_bytes,
          uint8_t* packed) {
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t row = (first + block) * kAmxRows;
    fill(row, std::min(kAmxRows, rows - row), packed + block * block_bytes);
  }
}

// Threads share the rows of A and each multiplies some of the columns of B.
void SplitColumns(int64_t rows, TileProduct product, FillAmxRows fill) {
  const int64_t block_bytes = product.BlockBytes();
  const int64_t all_blocks = DivCeil(rows, kAmxRows);
  const int64_t at_once = BlocksAtOnce(all_blocks, product);
  Scratch scratch;
  auto* const packed = scratch.AtLeast<uint8_t>(std::min(at_once, all_blocks) * block_bytes);
  for (int64_t first = 0; first < all_blocks; first += at_once) {
    const int64_t blocks = std::min(at_once, all_blocks - first);
    PanelQueue queue(product.Panels(), ThreadsFor(product.b, blocks));
    ParallelFor(blocks, DivCeil(kLeastPerFill, block_bytes), [&](int64_t begin, int64_t end) {
      PrefetchFirstPanel(product, queue, {begin, end}, blocks);
      Fill(fill, rows, first + begin, end - begin, block_bytes, packed + begin * block_bytes);
    });
    const int64_t row = first * kAmxRows;
    product.a = {packed, row, std::min(blocks * kAmxRows, rows - row)};
    Multiply(product, queue);
  }
}

// True if each thread packs all rows of A for itself, where threads share the columns: few threads
// take less time for few rows than they would wait for each other, and for what others packed.
bool PacksForEachThread(int64_t rows, const TileProduct& product) {
  constexpr int64_t kMostBytes = 800 << 10;
  constexpr int kMostThreads = 4;
  // Packing for int8 writes the terms of rows, which threads share.
  return product.b.type != AmxType::kUint8Int8 && NumThreads() <= kMostThreads &&
         DivCeil(rows, kAmxRows) * product.BlockBytes() <= kMostBytes;
}

// Packs blocks of A for the calling thread alone, and multiplies them by the panels that it takes.
void MultiplyOwnRows(int64_t rows, IndexRange blocks, TileProduct product, FillAmxRows fill,
                     PanelQueue& queue, int64_t thread) {
  const int64_t block_bytes = product.BlockBytes();
  Scratch scratch;
  auto* const packed = scratch.AtLeast<uint8_t>(blocks.size() * block_bytes);
  Fill(fill, rows, blocks.begin, blocks.size(), block_bytes, packed);
  const int64_t row = blocks.begin * kAmxRows;
  product.a = {packed, row, std::min(blocks.size() * kAmxRows, rows - row)};
  PanelWorker(product, queue, thread).Run();
}

// As SplitColumns, for PacksForEachThread.
void SplitColumnsOfCopies(int64_t rows, const TileProduct& product, FillAmxRows fill) {
  const IndexRange blocks = {0, DivCeil(rows, kAmxRows)};
  PanelQueue queue(product.Panels(), ThreadsFor(product.b, blocks.size()));
  ParallelFor(queue.threads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      PrefetchFirstPanel(product, queue, {thread, thread + 1}, queue.threads());
      MultiplyOwnRows(rows, blocks, product, fill, queue, thread);
    }
  });
}

// Each thread multiplies some of the rows of A by all of B. Rows of one product that become rows of
// the next stay in the cache of their thread.
void SplitRows(int64_t rows, const TileProduct& product, FillAmxRows fill) {
  const int64_t blocks = DivCeil(rows, kAmxRows);
  const int64_t threads = NumThreads();
  const int64_t most = BlocksAtOnce(DivCeil(blocks, threads), product);
  const int64_t chunks = DivCeil(DivCeil(blocks, most), threads) * threads;
  const EvenParts parts(blocks, chunks);
  ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      PanelQueue queue(product.Panels(), 1);
      MultiplyOwnRows(rows, {parts.Begin(chunk), parts.Begin(chunk + 1)}, product, fill, queue, 0);
    }
  });
}

// True if threads share the columns of B, not the rows. Threads that share the rows each read all
// of B; threads that share the columns read what others packed, and write to lines that others have
// in their caches, which takes several times as long. It pays if B is much larger than A and C.
bool SharesColumns(int64_t rows, const AmxMatrix& b) {
  // Where this was measured, on two cores, 2.4 times was worth sharing rows and 3.1 was not.
  constexpr double kTimesLarger = 2.7;
  constexpr int64_t kBytesOfSum = 2;
  if (rows < 2 * kAmxRows * NumThreads()) return true;
  const int64_t b_bytes = DivCeil(b.columns, kAmxPanelWidth) * b.panel_bytes;
  const int64_t rows_bytes =
      rows * (b.steps * b.pieces() * kAmxStepBytes + b.columns * kBytesOfSum);
  return static_cast<double>(b_bytes) > kTimesLarger * static_cast<double>(rows_bytes);
}

}  // namespace

void AmxGemm(int64_t rows, const AmxMatrix& b, FillAmxRows fill, AmxOutput output) {
  const TileProduct product = {b, output};
  if (!SharesColumns(rows, b)) return SplitRows(rows, product, fill);
  if (PacksForEachThread(rows, product)) return SplitColumnsOfCopies(rows, product, fill);
  SplitColumns(rows, product, fill);
}

std::vector<float> ColumnScales(const Epilogue& epilogue) {
  if (epilogue.scale == 1) return {};
  return std::vector<float>(kAmxPanelWidth, epilogue.scale);
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
