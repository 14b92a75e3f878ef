#ifndef ATTNRUN_OPS_MATMUL_BRGEMM_H_
#define ATTNRUN_OPS_MATMUL_BRGEMM_H_

#include <cstdint>
#include <memory>

namespace attnrun {

// What one of oneDNN's micro-kernels multiplies: C[rows, columns] = A[rows, k]·B[k, columns] [+ C].
struct BrgemmShape {
  int64_t rows;
  int64_t columns;
  int64_t k;
  // Floats from row to row.
  int64_t lda;
  int64_t ldb;
  int64_t ldc;
  bool accumulate;

  friend bool operator==(const BrgemmShape&, const BrgemmShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const BrgemmShape& s) {
    return H::combine(std::move(h), s.rows, s.columns, s.k, s.lda, s.ldb, s.ldc, s.accumulate);
  }
};

// One of oneDNN's micro-kernels ("brgemm", batch-reduce GEMM), generated for its shape alone. Every
// element of C is a chain of fused multiply-adds in the order of k that starts at zero, to which
// what C held is added. The only file that knows that interface, which still moves between
// releases.
class Brgemm {
 public:
  virtual ~Brgemm() = default;

  // Generating one takes some 0.2 ms; it is kept as long as the process. Null where oneDNN has none
  // (built without them, or for this CPU), or when too many are kept. Safe from many threads.
  static const Brgemm* Get(const BrgemmShape& shape);

  virtual void Multiply(const float* a, const float* b, float* c) const = 0;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MATMUL_BRGEMM_H_
