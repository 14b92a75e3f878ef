// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/read_bandwidth.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/attnrun/read_bandwidth.cc"
#include "hwy/foreach_target.h"
// Highway requires this after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::cli::HWY_NAMESPACE {
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

}  // namespace attnrun::cli::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/parallel.h"

namespace attnrun::cli {
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

size_t LastCacheBytes() { return std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0); }

// A shared cache of a large server may have hundreds of megabytes.
size_t BandwidthBufferBytes() {
  constexpr size_t kLeast = size_t{1} << 28;
  const size_t memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::min(std::max(kLeast, 2 * LastCacheBytes()), memory / 4);
}

double MeasureMemoryBandwidth(int threads) {
  constexpr int kTries = 5;
  SetNumThreads(threads);
  constexpr size_t kHugePage = size_t{1} << 21;
  const size_t bytes = BandwidthBufferBytes() / kHugePage * kHugePage;
  const std::unique_ptr<float, void (*)(void*)> data(
      static_cast<float*>(std::aligned_alloc(kHugePage, bytes)), std::free);
  if (data == nullptr) return 0;
  // As packed weights lie.
  madvise(data.get(), bytes, MADV_HUGEPAGE);
  // Floats that differ from zero, since the system may map untouched pages to one page of zeros.
  std::fill_n(data.get(), bytes / sizeof(float), 1.0F);
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    best = std::max(best, MeasureReadBandwidth(data.get(), bytes));
  }
  return best;
}

}  // namespace attnrun::cli
#endif  // HWY_ONCE
