// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_
#define ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_

#include <cstdint>
#include <memory>

#include "attnrun/shape.h"

namespace attnrun::ops {

// The convolution that one oneDNN primitive computes: one image, channels last, without padding,
// y[output.., features] = w * x[input.., channels] [+ bias] [+ y]. The vectors have one entry per
// spatial axis, two or three of them.
struct ConvPrimitiveShape {
  // 1, or equal to channels and features: each channel makes one feature.
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

// A convolution primitive for one thread. No other file uses oneDNN's interface to them.
class ConvPrimitive {
 public:
  virtual ~ConvPrimitive() = default;

  // Creating one takes about half a millisecond. Null if oneDNN has no optimized primitive, or none
  // that reads weights as packed for `layout` (null: oneDNN chooses the layout).
  static std::shared_ptr<const ConvPrimitive> Make(const ConvPrimitiveShape& shape,
                                                   const ConvPrimitive* layout);

  // Floats of a Runner's scratch space, and of the packed weights. Both are whole cache lines and
  // must begin on one.
  virtual int64_t scratch_floats() const = 0;
  virtual int64_t packed_floats() const = 0;

  // Reorders w [features, channels / groups, kernel..].
  virtual void Pack(const float* w, float* packed) const = 0;

  // Executes the primitive on one thread, starting no other.
  class Runner {
   public:
    virtual ~Runner() = default;
    // `packed`: written by Pack. `bias` [features]: null unless the shape has one.
    virtual void Run(const float* x, const float* packed, const float* bias, float* y) = 0;
  };
  // The primitive and `scratch` must outlive the runner; only the calling thread may use either.
  virtual std::unique_ptr<Runner> MakeRunner(float* scratch) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_PRIMITIVE_H_
