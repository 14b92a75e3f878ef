#include "ops/matmul/gemm_operands.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "hwy/aligned_allocator.h"

namespace attnrun {
namespace {

// From so many rows on a panel of B that is not packed is copied before it is used.
constexpr int64_t kRowsThatRepayPacking = 32;
// From so many rows on a block of A whose rows collide in the cache is copied.
constexpr int64_t kRowsThatRepayCopying = 17;
// Keeps the rows of a copied block of A in different sets of the cache: one line.
constexpr int64_t kPadding = 16;

// What a thread copies blocks into that the micro-kernel cannot read in place.
float* Scratch(hwy::AlignedFreeUniquePtr<float[]>& buffer, int64_t size) {
  if (buffer == nullptr) buffer = hwy::AllocateAligned<float>(size);
  return buffer.get();
}
float* ScratchForA() {
  thread_local hwy::AlignedFreeUniquePtr<float[]> buffer;
  return Scratch(buffer, kMostRows * (kDepthBlock + kPadding));
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

}  // namespace

int64_t DepthBlocksPerPass(int64_t rows) {
  const auto block_bytes =
      std::max<int64_t>(rows, 1) * kDepthBlock * static_cast<int64_t>(sizeof(float));
  // 0 or -1 where the system does not know.
  static const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max<int64_t>(bytes / 2 / block_bytes, 1);
}

bool CopiesA(const MatrixView& a, int64_t rows) {
  return a.column_stride != 1 || (rows >= kRowsThatRepayCopying && Collide(a.row_stride));
}

bool CopiesB(const GemmProblem& problem, int64_t rows) {
  return problem.b_source != nullptr || problem.b.column_stride != 1 ||
         rows >= kRowsThatRepayPacking;
}

void SetA(PanelProduct& product, const MatrixView& a, Range rows, Range depth) {
  product.rows = rows.size();
  product.k = depth.size();
  product.a = a.at(rows.begin, depth.begin);
  product.lda = a.row_stride;
  if (!CopiesA(a, rows.size())) return;
  float* scratch = ScratchForA();
  product.a = scratch;
  product.lda = depth.size() + kPadding;
  CopyBlock(a, rows.begin, rows.size(), depth.begin, depth.size(), scratch, product.lda);
}

void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, Range depth) {
  product.b = b.panel(index) + depth.begin * PanelWidth();
  product.ldb = PanelWidth();
  product.panel_stride = b.rows() * PanelWidth();
  product.padded = true;
}

void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, Range depth) {
  const int64_t width = PanelWidth();
  const int64_t first = index * width;
  if (!CopiesB(problem, product.rows)) {
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

}  // namespace attnrun
