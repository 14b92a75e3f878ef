// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_
#define ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_

#include <cstdint>
#include <memory>

#include "attnrun/shape.h"

namespace attnrun::ops {

// What one of oneDNN's convolution primitives computes, of one image, channels last, without
// padding: y[output.., features] = w * x[input.., channels] [+ bias] [+ y]. The vectors have one
// entry per spatial axis, two or three of them.
struct ConvPrimitiveShape {
  // 1, or as many as channels and features: each channel makes one feature.
  int64_t groups;
  int64_t channels;
  int64_t features;
  Shape input;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape output;
  bool bias;
  bool accumulate;
};

// A convolution primitive for one thread. The only file that knows oneDNN's interface to them.
class ConvPrimitive {
 public:
  virtual ~ConvPrimitive() = default;

  // Creating one takes about half a millisecond. Null where oneDNN has no optimized one, or none
  // that takes weights as packed for `layout` (null: as it likes best).
  static std::shared_ptr<const ConvPrimitive> Make(const ConvPrimitiveShape& shape,
                                                   const ConvPrimitive* layout);

  // Floats of scratch space that a Runner needs, and that packed weights take: whole cache lines,
  // on which both must begin.
  virtual int64_t scratch_floats() const = 0;
  virtual int64_t packed_floats() const = 0;

  // Reorders w [features, channels / groups, kernel..].
  virtual void Pack(const float* w, float* packed) const = 0;

  // Executes the primitive on one thread, starting no other.
  class Runner {
   public:
    virtual ~Runner() = default;
    // `packed`: what Pack wrote. `bias` [features], null unless the shape has one.
    virtual void Run(const float* x, const float* packed, const float* bias, float* y) = 0;
  };
  // The primitive and `scratch` must outlive it; both are for the calling thread alone.
  virtual std::unique_ptr<Runner> MakeRunner(float* scratch) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_
