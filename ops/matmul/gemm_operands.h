#ifndef ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_
#define ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_

#include <cstdint>

#include "ops/matmul/gemm.h"
#include "ops/matmul/micro_kernel.h"

// Blocks of A and B as our own micro-kernel reads them: in place, or copied to scratch space of the
// thread.
namespace attnrun {

// Rows of A that stay in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 128;
// Longer chains of sums cost accuracy: with 1,024 the error of BERT's outputs is 1.7 times that
// with 256.
constexpr int64_t kDepthBlock = 256;

// How many blocks of K follow each other, so that a tile of C is fetched once for all of them:
// those of A, so many rows high, fill three quarters of this machine's second-level cache together
// with those of the panel in use and of the one being fetched. At least one.
int64_t DepthBlocksPerPass(int64_t rows);

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// Whether blocks of A are copied before they are used.
bool CopiesA(const MatrixView& a);

// Whether panels of B are.
bool CopiesB(const GemmProblem& problem, int64_t rows);

// Sets A of `product` to a block of `a`.
void SetA(PanelProduct& product, const MatrixView& a, Range rows, Range depth);

// Sets B of `product`, whose rows and columns are set, to the rows `depth` of the panels from
// `index` on.
void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, Range depth);
// As above, for the B of a problem, which is not packed.
void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, Range depth);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MATMUL_GEMM_OPERANDS_H_
