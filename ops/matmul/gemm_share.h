#ifndef ATTNRUN_OPS_MATMUL_GEMM_SHARE_H_
#define ATTNRUN_OPS_MATMUL_GEMM_SHARE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "ops/matmul/brgemm.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemm_operands.h"

namespace attnrun {

inline Range Part(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// One thread's share of one product: some rows of C, and some panels of PanelWidth() columns.
struct Share {
  Range rows;
  Range panels;
};

// oneDNN's micro-kernels for one block of K, null where it has none.
struct BlockKernels {
  const Brgemm* tall = nullptr;
  const Brgemm* low = nullptr;
};

// By block of K; empty where they are of no use.
using Kernels = absl::InlinedVector<BlockKernels, 8>;

// For products of A and a packed B whose C has rows `ldc` floats apart.
Kernels FindKernels(const MatrixView& a, int64_t ldc);

// Of `problem`, of whose B only the extents count.
void MultiplyShare(const GemmProblem& problem, const PackedMatrix& b, const Share& share,
                   const Kernels& kernels);
void MultiplyShare(const GemmProblem& problem, const Share& share);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MATMUL_GEMM_SHARE_H_
