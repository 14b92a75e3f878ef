// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/onednn.h"

#include "core/div_ceil.h"
#include "oneapi/dnnl/dnnl_config.h"
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
// By the OpenMP specification. clang has no omp.h for GNU's library, with which oneDNN is linked.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);
#endif

namespace attnrun::ops {

using dnnl::memory;

const dnnl::engine& OneDnnEngine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

memory::desc RowMajor(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

memory::desc ChannelsLast(int64_t channels, const Shape& spatial) {
  return {Joined({1, channels}, spatial), memory::data_type::f32,
          spatial.size() == 2 ? memory::format_tag::nhwc : memory::format_tag::ndhwc};
}

memory::dims Joined(std::initializer_list<int64_t> first, const Shape& spatial) {
  memory::dims dims(first);
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

int64_t WholeLines(const memory::desc& desc) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kPerLine = kLine / static_cast<int64_t>(sizeof(float));
  return DivCeil(static_cast<int64_t>(desc.get_size()), kLine) * kPerLine;
}

dnnl::primitive_attr UserScratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void ExpectPrimitiveMemory() {
  // The buffer of generated code, 256 KiB, is the largest part.
  constexpr size_t kBytes = size_t{1} << 20;
  ::operator delete(::operator new(kBytes), kBytes);
}

void ForgetPrimitives() {
  const int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

}  // namespace attnrun::ops
