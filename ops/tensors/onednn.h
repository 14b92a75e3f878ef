// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_ONEDNN_H_
#define ATTNRUN_OPS_TENSORS_ONEDNN_H_

#include <cstdint>
#include <initializer_list>

#include "attnrun/shape.h"
#include "oneapi/dnnl/dnnl.hpp"

// Helpers for oneDNN's primitives.
namespace attnrun::ops {

// The CPU engine. Never destroyed: sessions may outlive static destruction.
const dnnl::engine& OneDnnEngine();

// Memory descriptions of floats: a row-major tensor, and one image [1, channels, spatial..] with
// channels last, of two or three spatial axes.
dnnl::memory::desc RowMajor(const dnnl::memory::dims& dims);
dnnl::memory::desc ChannelsLast(int64_t channels, const Shape& spatial);

// `first`, followed by the spatial extents.
dnnl::memory::dims Joined(std::initializer_list<int64_t> first, const Shape& spatial);

// The number of floats of a tensor, rounded up to whole cache lines.
int64_t WholeLines(const dnnl::memory::desc& desc);

// Attributes for scratch space that the caller provides: with oneDNN's own, a primitive could not
// run on two threads at once.
dnnl::primitive_attr UserScratch();

// While it exists, oneDNN starts no threads on behalf of this thread: ParallelFor splits the work,
// and OpenMP's threads would busy-wait on cores that others need.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_ONEDNN_H_
