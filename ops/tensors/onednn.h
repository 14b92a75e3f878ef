// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_ONEDNN_H_
#define ATTNRUN_OPS_TENSORS_ONEDNN_H_

#include <cstdint>
#include <initializer_list>

#include "attnrun/shape.h"
#include "oneapi/dnnl/dnnl.hpp"

// What the users of oneDNN's primitives share.
namespace attnrun::ops {

// The CPU. Never destroyed: sessions may outlive static destruction.
const dnnl::engine& OneDnnEngine();

// Floats of a tensor, row-major, and of one image [1, channels, spatial..], channels last; two or
// three spatial axes.
dnnl::memory::desc RowMajor(const dnnl::memory::dims& dims);
dnnl::memory::desc ChannelsLast(int64_t channels, const Shape& spatial);

// `first` and then the spatial extents.
dnnl::memory::dims Joined(std::initializer_list<int64_t> first, const Shape& spatial);

// Floats that the tensor takes, rounded up to whole cache lines.
int64_t WholeLines(const dnnl::memory::desc& desc);

// With scratch space of the caller's: with oneDNN's own, a primitive could not run on two threads
// at once.
dnnl::primitive_attr UserScratch();

// While it exists, oneDNN starts no threads for what this thread asks of it: work is split by
// ParallelFor, and OpenMP's threads would stay awake on cores that others need.
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
