#ifndef ATTNRUN_OPS_BLOCK_QUANTIZED_MATMUL_NBITS_H_
#define ATTNRUN_OPS_BLOCK_QUANTIZED_MATMUL_NBITS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/attribute_reader.h"
#include "ops/op.h"

namespace attnrun {

// com.microsoft MatMulNBits-1: Y [..., N] = A [..., K]·W [K, N] + bias [N] where column n of W is
//   (code(n, k) - zero_point(n, k / block_size)) * scale(n, k / block_size).
// Inputs: A; B, the codes, `bits` wide: uint8 [N, blocks, block_size * bits / 8], low bits first,
// with blocks = ceil(K / block_size); scales [N, blocks], perhaps as one axis; zero_points?, either
// packed like B into uint8 [N, ceil(blocks * bits / 8)] or floats [N, blocks], 2^(bits - 1) if left
// out; g_idx? [K], which may only say what block k is in anyway; bias?. A, scales and bias are
// float, float16 or bfloat16. accuracy_level allows to round A, which is never done here.
class MatMulNBits final : public Op {
 public:
  explicit MatMulNBits(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

  // Inputs.
  static constexpr int kA = 0;
  static constexpr int kCodes = 1;
  static constexpr int kScales = 2;
  static constexpr int kZeroPoints = 3;
  static constexpr int kGroups = 4;
  static constexpr int kBias = 5;

  // The inputs of one application; undefined: left out.
  using Inputs = std::function<Tensor(int)>;
  // kInvalidArgument or kUnimplemented unless attributes and all inputs but A fit together.
  absl::Status CheckWeight(const Inputs& input) const;
  // The shape of Y; as CheckWeight, for all of them, or for A and the bias alone.
  absl::StatusOr<Shape> Resolve(const OpContext& context) const;
  absl::StatusOr<Shape> ResolveOutput(const OpContext& context) const;

  // Zero points as floats [N, blocks]; empty if there are none. Precondition: CheckWeight.
  absl::StatusOr<std::vector<double>> ZeroPoints(const Tensor& zero_points) const;

  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  int bits() const { return static_cast<int>(bits_); }
  int64_t block_size() const { return block_size_; }
  int64_t blocks() const { return (k_ + block_size_ - 1) / block_size_; }

 private:
  absl::Status CheckAttributes() const;
  absl::Status CheckZeroPoints(const Tensor& zero_points) const;
  absl::Status CheckGroups(const Tensor& groups) const;

  int64_t k_;
  int64_t n_;
  int64_t bits_;
  int64_t block_size_;
  int64_t prepacked_;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_BLOCK_QUANTIZED_MATMUL_NBITS_H_
