// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_TILE_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_TILE_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_TILE_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "ops/attention/narrow_form.h"
#include "ops/tensors/index_range.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products of small matrices in registers, for the tiles of attention.
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// Lanes of a vector, a constant: tiles are arrays of vectors.
inline constexpr size_t kLanes = hn::MaxLanes(FloatTag());
// Rows and vectors of a register tile: as many sums as fit the registers beside the operands.
inline constexpr size_t kTileRows = 6;
inline constexpr size_t kTileVectors = kLanes == 16 ? 4 : 2;

// Copies `factor` times `count` floats. Rows are short: memmove, and loops that the compiler
// vectorizes, take longer to get started.
HWY_INLINE void CopyFloats(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to,
                           float factor = 1) {
  const FloatTag d;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  const FloatVec by = hn::Set(d, factor);
  for (; count >= kStep; count -= kStep, from += kStep, to += kStep) {
    hn::StoreU(hn::Mul(hn::LoadU(d, from), by), d, to);
  }
  if (count > 0) hn::StoreN(hn::Mul(hn::LoadN(d, from, count), by), d, to, count);
}

// Numbers in bf16 as floats.
template <typename Halves>
HWY_INLINE FloatVec Bf16AsFloats(Halves halves) {
  const hn::RebindToUnsigned<FloatTag> wide;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, halves)));
}

// The first `count` numbers as floats, at most a vector of them; zeros behind.
HWY_INLINE FloatVec LoadUpTo(const float* from, size_t count) {
  return hn::LoadN(FloatTag(), from, HWY_MIN(count, kLanes));
}
HWY_INLINE FloatVec LoadUpTo(const uint16_t* bf16, size_t count) {
  const hn::Rebind<uint16_t, FloatTag> halves;
  return Bf16AsFloats(hn::LoadN(halves, bf16, HWY_MIN(count, kLanes)));
}

// Rows of `size` numbers, `stride` elements apart.
struct NarrowRows {
  const void* data;
  int64_t stride;
  int64_t size;
  NarrowForm form;
};

// Reads elements of a row, of one type, as floats: `widen` makes a vector of floats of them.
template <typename T, typename Widen>
HWY_INLINE void WidenRow(const T* HWY_RESTRICT from, int64_t size, float* HWY_RESTRICT to,
                         const Widen& widen) {
  const FloatTag d;
  const hn::Rebind<T, FloatTag> narrow;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  int64_t i = 0;
  for (; i + kStep <= size; i += kStep) hn::StoreU(widen(hn::LoadU(narrow, from + i)), d, to + i);
  if (i < size) hn::StoreN(widen(hn::LoadN(narrow, from + i, size - i)), d, to + i, size - i);
}

inline void WidenHalves(const NarrowRows& from, int64_t rows, IndexRange channels,
                        float* HWY_RESTRICT to) {
  const FloatTag d;
  const hn::Rebind<hwy::float16_t, FloatTag> float16;
  const auto* row = static_cast<const uint16_t*>(from.data) + channels.begin;
  const auto widen = [&](auto halves) HWY_ATTR {
    if (from.form == NarrowForm::kFloat16) return hn::PromoteTo(d, hn::BitCast(float16, halves));
    return Bf16AsFloats(halves);
  };
  for (; rows > 0; --rows, row += from.stride, to += channels.size()) {
    WidenRow(row, channels.size(), to, widen);
  }
}

inline void WidenBytes(const NarrowRows& from, int64_t rows, IndexRange channels,
                       float* HWY_RESTRICT to) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> wide;
  const auto* row = static_cast<const int8_t*>(from.data);
  for (; rows > 0; --rows, row += from.stride, to += channels.size()) {
    float scale = 1;
    if (from.form == NarrowForm::kScaledBytes) {
      std::memcpy(&scale, row + from.size, sizeof(scale));
    }
    const FloatVec factor = hn::Set(d, scale);
    WidenRow(row + channels.begin, channels.size(), to, [&](auto bytes) HWY_ATTR {
      return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(wide, bytes)), factor);
    });
  }
}

// Reads `count` numbers, two of each byte.
inline void WidenPairsOfRow(const uint8_t* HWY_RESTRICT from, int64_t count,
                            float* HWY_RESTRICT to) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> wide;
  const hn::Rebind<uint8_t, FloatTag> bytes;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  for (; count > 0; count -= kStep, from += kStep / 2, to += kStep) {
    const size_t some = HWY_MIN(count, kStep);
    const auto pairs = hn::LoadN(bytes, from, hwy::DivCeil(some, size_t{2}));
    const auto low = hn::And(pairs, hn::Set(bytes, uint8_t{15}));
    const auto numbers = hn::InterleaveLower(bytes, low, hn::ShiftRight<4>(pairs));
    const auto signed_numbers = hn::Sub(hn::PromoteTo(wide, numbers), hn::Set(wide, 8));
    hn::StoreN(hn::ConvertTo(d, signed_numbers), d, to, some);
  }
}

inline void WidenPairs(const NarrowRows& from, int64_t rows, IndexRange channels,
                       float* HWY_RESTRICT to) {
  const auto* row = static_cast<const uint8_t*>(from.data) + channels.begin / 2;
  const int64_t odd = channels.begin % 2;
  for (; rows > 0; --rows, row += from.stride, to += channels.size()) {
    if (odd != 0 && channels.size() > 0) *to = static_cast<float>(row[0] >> 4) - 8;
    WidenPairsOfRow(row + odd, channels.size() - odd, to + odd);
  }
}

// Reads some channels of `rows` rows as adjacent floats.
inline void WidenRows(const NarrowRows& from, int64_t rows, IndexRange channels,
                      float* HWY_RESTRICT to) {
  if (from.form == NarrowForm::kPairs) return WidenPairs(from, rows, channels, to);
  const auto widen = ElementBytes(from.form) == 1 ? &WidenBytes : &WidenHalves;
  widen(from, rows, channels, to);
}

// Copies channels that are `stride` apart to adjacent floats.
HWY_INLINE void CopyChannels(const float* HWY_RESTRICT from, int64_t stride, int64_t count,
                             float* HWY_RESTRICT to) {
  if (stride == 1) return CopyFloats(from, count, to);
  for (int64_t h = 0; h < count; ++h) to[h] = from[h * stride];
}

// Prefetches rows that are needed soon. Each lies on a page of its own, where the hardware's
// prefetcher does not follow. They are brought into the second-level cache a few at a time between
// the tiles of a product, since all at once they would hold up other loads.
class Fetch {
 public:
  // Adds `rows` rows of `size` floats, `stride` apart.
  void Add(const float* at, int64_t stride, int64_t rows, int64_t size) {
    if (rows <= 0 || size <= 0) return;
    pieces_[count_++] = {at, stride, rows, size};
    rows_ += rows;
  }

  // Prepares to fetch all rows in `times` calls of Some and one of Rest.
  void SpreadOver(int64_t times) { each_ = times == 0 ? 0 : hwy::DivCeil(rows_, times); }
  HWY_INLINE void Some() {
    for (int64_t left = each_; left > 0 && count_ > 0;) left -= Rows(pieces_[count_ - 1], left);
  }
  void Rest() {
    while (count_ > 0) Rows(pieces_[count_ - 1], rows_);
  }

 private:
  struct Piece {
    const float* at;
    int64_t stride;
    int64_t rows;
    int64_t size;
  };

  static constexpr int64_t kLine = 16;
  static constexpr int kSecondLevel = 2;

  // Fetches at most `most` rows; returns how many it fetched.
  HWY_INLINE int64_t Rows(Piece& piece, int64_t most) {
    const int64_t rows = HWY_MIN(piece.rows, most);
    // Local copies: updating counters in memory would take longer than the loop.
    const float* at = piece.at;
    const int64_t stride = piece.stride;
    const int64_t size = piece.size;
    for (int64_t row = 0; row < rows; ++row, at += stride) {
      for (int64_t i = 0; i < size; i += kLine) __builtin_prefetch(at + i, 0, kSecondLevel);
    }
    piece.at = at;
    piece.rows -= rows;
    if (piece.rows == 0) --count_;
    return rows;
  }

  int64_t each_ = 0;
  // Pieces are fetched from the last to the first.
  int count_ = 0;
  Piece pieces_[3];
  int64_t rows_ = 0;
};

// c (+)= a b for kRows rows and kVectors vectors of columns: a[r * lda + i], b[i * ldb + column].
// Each element of c is one chain of multiply-adds in the order of i, whatever the tile around it.
// Only `last` elements of the last vector of a row of b are read.
template <size_t kRows, size_t kVectors, bool kWhole>
HWY_INLINE void MultiplyRegisterTile(const float* HWY_RESTRICT a, size_t lda,
                                     const float* HWY_RESTRICT b, size_t ldb, size_t depth,
                                     size_t last, bool accumulate, float* HWY_RESTRICT c,
                                     size_t ldc) {
  const FloatTag d;
  FloatVec sums[kRows][kVectors];
  HWY_UNROLL(12) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8) for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = accumulate ? hn::LoadU(d, c + r * ldc + v * kLanes) : hn::Zero(d);
    }
  }
  for (size_t i = 0; i < depth; ++i) {
    FloatVec row[kVectors];
    HWY_UNROLL(8) for (size_t v = 0; v + 1 < kVectors; ++v) {
      row[v] = hn::LoadU(d, b + i * ldb + v * kLanes);
    }
    const float* end = b + i * ldb + (kVectors - 1) * kLanes;
    row[kVectors - 1] = kWhole ? hn::LoadU(d, end) : hn::LoadN(d, end, last);
    HWY_UNROLL(12) for (size_t r = 0; r < kRows; ++r) {
      const FloatVec factor = hn::Set(d, a[r * lda + i]);
      HWY_UNROLL(8) for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(factor, row[v], sums[r][v]);
      }
    }
  }
  HWY_UNROLL(12) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8) for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, c + r * ldc + v * kLanes);
    }
  }
}

// The same for any number of rows.
template <size_t kVectors, bool kWhole>
HWY_NOINLINE void MultiplyPanel(const float* a, size_t lda, size_t rows, const float* b, size_t ldb,
                                size_t depth, size_t last, bool accumulate, float* c, size_t ldc,
                                Fetch& fetch) {
  // Narrow tiles are taller, so that there are enough sums to hide the latency of each.
  constexpr size_t kTall = 2 * kVectors <= kTileVectors ? 2 * kTileRows : kTileRows;
  for (; rows >= kTall; rows -= kTall, a += kTall * lda, c += kTall * ldc) {
    fetch.Some();
    MultiplyRegisterTile<kTall, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c, ldc);
  }
  for (; rows >= kTileRows; rows -= kTileRows, a += kTileRows * lda, c += kTileRows * ldc) {
    fetch.Some();
    MultiplyRegisterTile<kTileRows, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                      ldc);
  }
  switch (rows) {
    case 5:
      return MultiplyRegisterTile<5, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                       ldc);
    case 4:
      return MultiplyRegisterTile<4, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                       ldc);
    case 3:
      return MultiplyRegisterTile<3, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                       ldc);
    case 2:
      return MultiplyRegisterTile<2, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                       ldc);
    case 1:
      return MultiplyRegisterTile<1, kVectors, kWhole>(a, lda, b, ldb, depth, last, accumulate, c,
                                                       ldc);
    default:
      return;
  }
}

template <bool kWhole>
HWY_INLINE auto PanelOf(size_t vectors) {
  return vectors == 4   ? &MultiplyPanel<4, kWhole>
         : vectors == 3 ? &MultiplyPanel<3, kWhole>
         : vectors == 2 ? &MultiplyPanel<2, kWhole>
                        : &MultiplyPanel<1, kWhole>;
}

// c [rows, columns] (+)= a [rows, depth] b [depth, columns], and prefetches all of `fetch`
// meanwhile. Rows of c have room for whole vectors.
HWY_INLINE void Multiply(const float* a, size_t lda, size_t rows, const float* b, size_t ldb,
                         size_t columns, size_t depth, bool accumulate, float* c, size_t ldc,
                         Fetch& fetch) {
  constexpr size_t kWidth = kTileVectors * kLanes;
  const size_t tile_rows = 2 * columns <= kWidth ? 2 * kTileRows : kTileRows;
  fetch.SpreadOver(hwy::DivCeil(columns, kWidth) * (rows / tile_rows));
  for (size_t column = 0; column < columns;) {
    const size_t vectors = HWY_MIN((columns - column + kLanes - 1) / kLanes, kTileVectors);
    const size_t width = HWY_MIN(vectors * kLanes, columns - column);
    const size_t last = width - (vectors - 1) * kLanes;
    const auto panel = last == kLanes ? PanelOf<true>(vectors) : PanelOf<false>(vectors);
    panel(a, lda, rows, b + column, ldb, depth, last, accumulate, c + column, ldc, fetch);
    column += width;
  }
  fetch.Rest();
}

// Loads four floats of each of the rows x, x + 4 * stride, x + 8 * stride, ...: one row per block
// of 4 lanes.
HWY_INLINE FloatVec LoadBlocks(const float* HWY_RESTRICT x, int64_t stride) {
  const FloatTag d;
  const hn::CappedTag<float, 4> d4;
#if HWY_TARGET <= HWY_AVX3
  const hn::CappedTag<float, 8> d8;
  const auto low = hn::Combine(d8, hn::LoadU(d4, x + 4 * stride), hn::LoadU(d4, x));
  const auto high = hn::Combine(d8, hn::LoadU(d4, x + 12 * stride), hn::LoadU(d4, x + 8 * stride));
  return hn::Combine(d, high, low);
#else
  return hn::Combine(d, hn::LoadU(d4, x + 4 * stride), hn::LoadU(d4, x));
#endif
}

// Transposes: column[i] = `factor` times float i of each of kLanes rows, `stride` apart from x on.
HWY_INLINE void TransposeInRegisters(const float* HWY_RESTRICT x, int64_t stride, FloatVec factor,
                                     FloatVec* column) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> dd;
  // Block i of part j is row 4 * i + j: transposing within blocks then puts the rows in order.
  const FloatVec part0 = hn::Mul(LoadBlocks(x, stride), factor);
  const FloatVec part1 = hn::Mul(LoadBlocks(x + stride, stride), factor);
  const FloatVec part2 = hn::Mul(LoadBlocks(x + 2 * stride, stride), factor);
  const FloatVec part3 = hn::Mul(LoadBlocks(x + 3 * stride, stride), factor);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, part0, part1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, part2, part3));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, part0, part1));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, part2, part3));
  column[0] = hn::BitCast(d, hn::InterleaveLower(dd, low01, low23));
  column[1] = hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23));
  column[2] = hn::BitCast(d, hn::InterleaveLower(dd, high01, high23));
  column[3] = hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23));
}

// The same, stored as four rows of kLanes floats that are `out_stride` apart.
HWY_INLINE void Transpose4(const float* HWY_RESTRICT x, int64_t stride, FloatVec factor,
                           float* HWY_RESTRICT out, size_t out_stride) {
  FloatVec column[4];
  TransposeInRegisters(x, stride, factor, column);
  HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) {
    hn::StoreU(column[i], FloatTag(), out + i * out_stride);
  }
}

// Element (t, h) of keys: data[t * stride + h * channel_stride].
struct KeysView {
  const float* data;
  int64_t stride;
  int64_t channel_stride;
};

// out[h * width + t] = factor * x(t, h) for t < count, 0 for count <= t < width, h < size. `width`
// is a multiple of kLanes.
HWY_INLINE void PackTransposed(const KeysView& x, float factor, size_t count, size_t size,
                               size_t width, float* HWY_RESTRICT out) {
  size_t done = 0;
  for (; x.channel_stride == 1 && x.stride != 1 && done + kLanes <= count; done += kLanes) {
    const float* rows = x.data + static_cast<int64_t>(done) * x.stride;
    size_t h = 0;
    for (; h + 4 <= size; h += 4) {
      Transpose4(rows + h, x.stride, hn::Set(FloatTag(), factor), out + h * width + done, width);
    }
    for (; h < size; ++h) {
      for (size_t t = 0; t < kLanes; ++t) {
        out[h * width + done + t] =
            factor * rows[static_cast<int64_t>(t) * x.stride + static_cast<int64_t>(h)];
      }
    }
  }
  for (size_t h = 0; done < width && h < size; ++h) {
    const float* from = x.data + static_cast<int64_t>(h) * x.channel_stride;
    float* const to = out + h * width;
    // With a stride known to be 1 the compiler makes vector code of this loop.
    for (size_t t = done; x.stride == 1 && t < count; ++t) to[t] = factor * from[t];
    for (size_t t = done; x.stride != 1 && t < count; ++t) {
      to[t] = factor * from[static_cast<int64_t>(t) * x.stride];
    }
    std::fill(to + std::max(done, count), to + width, 0.0F);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
