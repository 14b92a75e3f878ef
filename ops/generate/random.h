// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_RANDOM_H_
#define ATTNRUN_OPS_GENERATE_RANDOM_H_

#include <cstdint>
#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The seed of a random operator: attribute `seed`, or a hash of the node's name if there is none.
// An operator holds no state, so every run draws the same numbers, and nodes without a seed draw
// different ones.
uint64_t ReadSeed(AttributeReader& attributes);

// ONNX RandomNormal-1, -22 (`mean`, `scale`) and RandomUniform-1, -22 (`low`, `high`), of
// attributes `shape` and `dtype` (default: float). RandomNormalLike-1, -22 and RandomUniformLike-1,
// -22 take the shape and, unless `dtype` is given, the type of the input.
class RandomOp final : public Op {
 public:
  RandomOp(AttributeReader& attributes, bool normal, bool like);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The type and the shape of the output.
  DataType TypeOf(const OpContext& context) const {
    return type_ == DataType::kUndefined ? context.input(0).type() : type_;
  }
  const Shape& ShapeOf(const OpContext& context) const {
    return like_ ? context.input(0).shape() : shape_;
  }
  bool normal() const { return normal_; }
  // Mean and standard deviation, or the bounds.
  float a() const { return a_; }
  float b() const { return b_; }
  uint64_t seed() const { return seed_; }

 private:
  bool normal_;
  bool like_;
  DataType type_;
  Shape shape_;
  float a_;
  float b_;
  uint64_t seed_;
};

// ONNX Bernoulli-15, -22: 1 with the probability that the input's element states, else 0; of type
// `dtype` (default: the input's).
class Bernoulli final : public Op {
 public:
  explicit Bernoulli(AttributeReader& attributes)
      : type_(attributes.ElementType("dtype", DataType::kUndefined)), seed_(ReadSeed(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  DataType type_;
  uint64_t seed_;
};

// ONNX Multinomial-7, -22: draws `sample_size` (default: 1) classes for each row of logarithms of
// weights [B, C]; output [B, sample_size] of type `dtype` (int32 or int64).
class Multinomial final : public Op {
 public:
  explicit Multinomial(AttributeReader& attributes)
      : type_(attributes.ElementType("dtype", DataType::kInt32)),
        sample_size_(attributes.Int("sample_size", 1)),
        seed_(ReadSeed(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  DataType type_;
  int64_t sample_size_;
  uint64_t seed_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_RANDOM_H_
