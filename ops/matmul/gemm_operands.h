#ifndef ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_
#define ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_

#include <cstdint>

#include "ops/matmul/gemm.h"
#include "ops/matmul/micro_kernel.h"

// Blocks of A and B as our own micro-kernel reads them: in place, or copied to scratch space of the
// thread.
namespace attnrun {

// A block of A (kRowBlock x kDepthBlock), or some of them side by side, stays in the second-level
// cache while all panels pass by. Longer chains of sums cost accuracy: with 1,024 the error of
// BERT's outputs is 1.7 times that with 256, which takes 2 % longer.
constexpr int64_t kRowBlock = 128;
constexpr int64_t kDepthBlock = 256;
// The rows of a block of A where B is packed, if that is all there are.
constexpr int64_t kMostRows = 2 * kRowBlock;

// Blocks of A, so many rows high, that fill half of this machine's second-level cache; at least
// one.
int64_t DepthBlocksPerPass(int64_t rows);

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// Whether blocks of A, so many rows high, are copied before they are used.
bool CopiesA(const MatrixView& a, int64_t rows);

// Whether panels of B are.
bool CopiesB(const GemmProblem& problem, int64_t rows);

// Sets A of `product` to a block of `a`; what is copied has at most kMostRows rows.
void SetA(PanelProduct& product, const MatrixView& a, Range rows, Range depth);

// Sets B of `product`, whose rows and columns are set, to the rows `depth` of the panels from
// `index` on.
void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, Range depth);
// As above, for the B of a problem, which is not packed.
void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, Range depth);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_
