// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_GEMM_H_
#define ATTNRUN_OPS_GEMM_GEMM_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ops/gemm/activation.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/nbit_panels.h"
#include "ops/gemm/packed_matrix.h"

namespace attnrun::ops {

// The operations on a tile of the product while it is in registers or cache: C = activation(scale *
// A·B + bias) + residual_scale * residual.
struct Epilogue {
  float scale = 1;
  // [N], or null.
  const float* bias = nullptr;
  // [M, N] (strides of 0 broadcast), or data == null.
  MatrixView residual = {};
  float residual_scale = 1;
  Activation activation;
};

// The epilogue of a product of rounded operands.
inline Epilogue AfterRounding(Epilogue epilogue) {
  epilogue.activation.is_rough = true;
  return epilogue;
}

// C[M,N] = epilogue(A[M,K]·B[K,N]), in the arithmetic of B's format; the rows of C are `ldc` floats
// apart. Runs on up to NumThreads() threads. Every element is summed along K in an order that
// depends on K alone: its bits are the same for any number of threads and for a row alone or among
// others.
void Gemm(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
          const Epilogue& epilogue);
void Gemm(const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
          const Epilogue& epilogue);

// The name of a product for the profile, and its arithmetic; `b` may be null.
absl::string_view GemmName(const PackedMatrix* b);
Precision GemmPrecision(const PackedMatrix* b);

// One product of a batch.
struct GemmProblem {
  MatrixView a;
  // If `b_source` is set, it provides the elements and only the extents of `b` are used.
  MatrixView b;
  float* c = nullptr;
  int64_t ldc = 0;
  Epilogue epilogue = {};
  const BlockSource* b_source = nullptr;
};

// Computes `count` products of the same extents; `problem(i)`, called from any thread, returns the
// i-th. As Gemm, with the bits of the format kFloat32, for matrices B that are not packed in
// advance.
void BatchedGemm(int64_t count, absl::FunctionRef<GemmProblem(int64_t)> problem);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_GEMM_H_
