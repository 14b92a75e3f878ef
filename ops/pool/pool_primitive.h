// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_
#define ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "ops/pool/pool.h"

namespace attnrun::ops {

// A pooling primitive of oneDNN for one thread, with the reorders around it: it computes on
// channels last. The only file that knows oneDNN's interface to them.
class PoolPrimitive {
 public:
  virtual ~PoolPrimitive() = default;

  // `window` as one of two or three axes whose primitive computes the same; nullopt if there is
  // none. Its maxima are right where every element is finite and at least the lowest float: it
  // passes over NaN, and has no -inf.
  static std::optional<SlidingWindow> Normalized(const PoolAttributes& attributes,
                                                 const SlidingWindow& window);

  // For `channels` images and a window of Normalized. Takes about half a millisecond. Null where
  // oneDNN has no optimized one.
  static std::shared_ptr<const PoolPrimitive> Make(const PoolAttributes& attributes,
                                                   const SlidingWindow& window, int64_t channels);

  // Floats of scratch space that Run needs, which must begin on a cache line.
  virtual int64_t scratch_floats() const = 0;

  // y [channels, output..] of x [channels, input..], on the calling thread. Any number of threads
  // may call it at once, each with scratch space of its own.
  virtual void Run(const float* x, float* y, float* scratch) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_POOL_PRIMITIVE_H_
