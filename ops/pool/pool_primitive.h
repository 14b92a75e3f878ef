// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_
#define ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "ops/pool/pool.h"

namespace attnrun::ops {

// A oneDNN pooling primitive for one thread, with the reorders around it: it computes on channels
// last. No other file uses oneDNN's interface to pooling.
class PoolPrimitive {
 public:
  virtual ~PoolPrimitive() = default;

  // `window` as one of two or three axes whose primitive computes the same; nullopt if there is
  // none. Its maxima are right only if every element is a number and none is -inf: oneDNN skips
  // NaN, and its maxima start at the lowest float.
  static std::optional<SlidingWindow> Normalized(const PoolAttributes& attributes,
                                                 const SlidingWindow& window);

  // For `channels` images and a window from Normalized. Takes about half a millisecond. Null if
  // oneDNN has no optimized primitive.
  static std::shared_ptr<const PoolPrimitive> Make(const PoolAttributes& attributes,
                                                   const SlidingWindow& window, int64_t channels);

  // Floats of scratch space that Run needs; it must begin on a cache line.
  virtual int64_t scratch_floats() const = 0;

  // Computes y [channels, output..] from x [channels, input..] on the calling thread. Any number of
  // threads may call it at once, each with scratch space of its own.
  virtual void Run(const float* x, float* y, float* scratch) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_
