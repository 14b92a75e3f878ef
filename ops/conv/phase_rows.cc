// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/phase_rows.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "hwy/highway.h"

namespace attnrun::ops {
namespace {

// Moving data is bound by memory, so the vectors that every machine has suffice.
namespace hn = hwy::HWY_NAMESPACE;

// to[i * s + phase] = rows[phase][i], i in [begin, end), in whole vectors; returns where it
// stopped.
int64_t InterleaveVectors(absl::Span<const float* const> rows, int64_t begin, int64_t end,
                          float* to) {
  const hn::FixedTag<float, 8> d;
  constexpr int64_t kLanes = 8;
  const auto s = static_cast<int64_t>(rows.size());
  for (; begin + kLanes <= end; begin += kLanes, to += s * kLanes) {
    const auto row = [&](int phase) { return hn::LoadU(d, rows[phase] + begin); };
    if (s == 2) {
      hn::StoreInterleaved2(row(0), row(1), d, to);
    } else if (s == 3) {
      hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    } else {
      hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
    }
  }
  return begin;
}

}  // namespace

void InterleavePhases(absl::Span<const float* const> rows, int64_t begin, int64_t count,
                      float otherwise, float* to) {
  const auto s = static_cast<int64_t>(rows.size());
  const int64_t end = begin + count;
  if (s == 1 && rows[0] != nullptr) {
    std::copy_n(rows[0] + begin, count, to);
    return;
  }
  const bool whole =
      std::none_of(rows.begin(), rows.end(), [](const float* row) { return row == nullptr; });
  int64_t first = DivCeil(begin, s);
  const int64_t first_vector = first;
  int64_t last_vector = first;
  if (whole && s >= 2 && s <= 4 && first < end / s) {
    last_vector = InterleaveVectors(rows, first, end / s, to + first * s - begin);
  }
  for (int64_t phase = 0; phase < s; ++phase) {
    const float* const row = rows[phase];
    // Steps t with begin <= t * s + phase < end.
    const int64_t low = DivCeil(std::max<int64_t>(begin - phase, 0), s);
    const int64_t high = DivCeil(std::max<int64_t>(end - phase, 0), s);
    float* const at = to + phase - begin;
    const auto put = [&](int64_t from, int64_t until) {
      for (int64_t t = from; t < until; ++t) at[t * s] = row == nullptr ? otherwise : row[t];
    };
    put(low, std::min(first_vector, high));
    put(std::max(last_vector, low), high);
  }
}

}  // namespace attnrun::ops
