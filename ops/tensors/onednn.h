// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_ONEDNN_H_
#define ATTNRUN_OPS_TENSORS_ONEDNN_H_

#include <cstdint>
#include <initializer_list>
#include <new>

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

// Returns call(), which calls oneDNN. Throws std::bad_alloc in place of oneDNN's own error when
// memory has run out.
template <typename Call>
auto WithinMemory(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

// Throws std::bad_alloc unless there is memory enough to make a primitive: oneDNN does not check
// all of its allocations.
void ExpectPrimitiveMemory();
// Empties oneDNN's cache of primitives, in which one that could not be finished would stay,
// unusable.
void ForgetPrimitives();

// Returns make(), a pointer that holds a primitive; null if oneDNN has no such primitive.
template <typename Make>
auto MadeOrNull(Make make) -> decltype(make()) {
  ExpectPrimitiveMemory();
  try {
    return WithinMemory(make);
  } catch (const dnnl::error&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    ForgetPrimitives();
    throw;
  }
}

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
