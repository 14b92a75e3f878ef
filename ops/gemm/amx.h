// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_H_
#define ATTNRUN_OPS_GEMM_AMX_H_

#include <cstdint>

// Products on the matrix unit of Intel's processors, AMX. Its registers are tiles of 16 rows of 64
// bytes. One instruction adds to a tile of 16 x 16 sums of 32 bits the product of a tile of A, 16
// rows of K, and a tile of B, in which the numbers of K that share 32 bits lie together for each
// column (Intel's manual, volume 2, TDPBF16PS and TDPBUSD).
//
// Every function here needs ThisCpu().amx_bf16 or amx_int8.
namespace attnrun::ops {

// Rows of a tile of A and of the sums.
inline constexpr int64_t kAmxRows = 16;
// A step of the product is a tile's row: 32 bf16 or 64 bytes of K.
inline constexpr int64_t kAmxStepBytes = 64;
inline constexpr int64_t kAmxBf16Step = 32;
inline constexpr int64_t kAmxTileBytes = kAmxRows * kAmxStepBytes;
// Columns of a panel of B: two tiles.
inline constexpr int64_t kAmxPanelWidth = 32;
// Bytes of a panel per step.
inline constexpr int64_t kAmxPanelBytes = kAmxPanelWidth * kAmxStepBytes;

enum class AmxType {
  // bf16 times bf16 in float; numbers below 2^-126 count as 0.
  kBf16,
  // uint8 times int8, exact modulo 2^32.
  kUint8Int8,
  // float times float as products of bf16: see amx_float32.h.
  kFloat32,
};

// While it exists, the thread may multiply tiles. Other libraries in the process program tiles as
// well, so nothing of them is left behind.
class AmxScope {
 public:
  AmxScope();
  // For shorter steps: `step_bytes` of K, a multiple of 4, are a row of A and a quarter as many
  // rows of B. And for fewer `rows` of A and of the sums, which take less time.
  explicit AmxScope(int64_t step_bytes, int64_t rows = kAmxRows);
  AmxScope(const AmxScope&) = delete;
  AmxScope& operator=(const AmxScope&) = delete;
  ~AmxScope();
};

// Work for the vector units, cut into pieces. Tiles are multiplied by a unit of their own, so that
// a piece between two steps costs little time beside the next steps.
class AmxCompanion {
 public:
  virtual ~AmxCompanion() = default;

  // A step begins. Every `interval` steps, counted over all products, a piece is done.
  void Step() {
    if (--steps_left_ > 0) return;
    steps_left_ = interval_;
    DoPiece();
  }

 protected:
  void SetInterval(int64_t steps) { interval_ = steps_left_ = steps; }

 private:
  virtual void DoPiece() = 0;

  int64_t interval_ = 1;
  int64_t steps_left_ = 1;
};

// One or two blocks of 16 rows of A times one panel of B.
struct AmxProduct {
  // [steps, 16, 64 bytes], the second block `a_stride` bytes after the first.
  const uint8_t* a;
  int64_t a_stride;
  // 1 or 2.
  int blocks;
  // [steps, 16, kAmxPanelWidth, 4 bytes].
  const uint8_t* b;
  int64_t steps;
  // [16 * blocks, kAmxPanelWidth] of float or int32, `ldc` numbers between rows.
  void* sums;
  int64_t ldc;
  // True if the product is added to `sums`.
  bool accumulate;
  // Memory that is read after this product, to be prefetched: `lines` lines of 64 bytes per step.
  const uint8_t* next;
  int64_t lines;
  // Done between the steps, if it is not null.
  AmxCompanion* companion;
};

// Every sum is a chain along K in an order that depends on nothing else.
void MultiplyTiles(AmxType type, const AmxProduct& product);

// Rounds `rows` rows, at most 16, of `count` floats, `row_stride` apart, to bf16 and packs them as
// a block of A, [steps, 16, 64 bytes]. Rounds to nearest with ties to even; numbers below 2^-126
// become 0. Fills up to whole steps with zeros, and leaves missing rows as they are.
void PackBf16Block(const float* from, int64_t row_stride, int64_t rows, int64_t count,
                   uint8_t* block);
// As above, for rows that are bf16 already.
void PackBf16Block(const uint16_t* from, int64_t row_stride, int64_t rows, int64_t count,
                   uint8_t* block);

// Packs rows [0, rows) and columns [0, columns) of a block of B, rows at most 32 and columns at
// most kAmxPanelWidth, as one step of a panel; the rest is zeros. Rows are `ld` floats apart.
void PackBf16Step(const float* from, int64_t ld, int64_t rows, int64_t columns, uint8_t* to);
// As above, for numbers that are bf16 already.
void PackBf16Step(const uint16_t* from, int64_t ld, int64_t rows, int64_t columns, uint8_t* to);

// Packs the transpose of a matrix as a panel of B: numbers [first, first + 32) of each of `count`
// rows, at most kAmxPanelWidth, become one step of K with a column for each row. The rows have
// `depth` numbers and begin `row_stride` numbers apart; missing numbers are zeros.
void PackBf16TransposedStep(const float* from, int64_t row_stride, int64_t count, int64_t first,
                            int64_t depth, uint8_t* to);
// As above, for numbers that are bf16 already.
void PackBf16TransposedStep(const uint16_t* from, int64_t row_stride, int64_t count, int64_t first,
                            int64_t depth, uint8_t* to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_H_
