// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine.cc"
#include "hwy/foreach_target.h"
// Highway requires this after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void Read(const float* data, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d);
  auto b = a;
  auto e = a;
  auto f = a;
  for (size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, data + i));
    b = hn::Add(b, hn::LoadU(d, data + i + lanes));
    e = hn::Add(e, hn::LoadU(d, data + i + 2 * lanes));
    f = hn::Add(f, hn::LoadU(d, data + i + 3 * lanes));
  }
  hwy::PreventElision(hn::GetLane(hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

}  // namespace attnrun::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <chrono>

#include "core/parallel.h"

namespace attnrun::bench {
namespace {

HWY_EXPORT(Read);

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

double MeasureReadBandwidth(const void* data, size_t bytes) {
  const auto* floats = static_cast<const float*>(data);
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(static_cast<int64_t>(bytes / sizeof(float)), 1, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Read)(floats + begin, end - begin);
  });
  return static_cast<double>(bytes) / Seconds(std::chrono::steady_clock::now() - start);
}

}  // namespace attnrun::bench
#endif  // HWY_ONCE
