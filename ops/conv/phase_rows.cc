// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/phase_rows.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "hwy/highway.h"

namespace attnrun::ops {

// Moving data is bound by memory, so the vectors that every machine has suffice.
namespace hn = hwy::HWY_NAMESPACE;

PhaseInterleaver::PhaseInterleaver(int64_t phases, int64_t begin, int64_t count)
    : begin_(begin), count_(count), whole_{DivCeil(begin, phases), (begin + count) / phases} {
  whole_.end = std::max(whole_.end, whole_.begin);
  for (int64_t phase = 0; phase < phases; ++phase) {
    steps_.push_back({DivCeil(std::max<int64_t>(begin - phase, 0), phases),
                      DivCeil(std::max<int64_t>(begin + count - phase, 0), phases)});
  }
}

// Writes whole vectors of two, three or four phases; returns the step at which it stopped.
int64_t PhaseInterleaver::WriteVectors(absl::Span<const float* const> rows, float* to) const {
  const hn::FixedTag<float, 8> d;
  constexpr int64_t kLanes = 8;
  const auto s = static_cast<int64_t>(rows.size());
  int64_t t = whole_.begin;
  to += t * s - begin_;
  for (; t + kLanes <= whole_.end; t += kLanes, to += s * kLanes) {
    const auto row = [&](int phase) { return hn::LoadU(d, rows[phase] + t); };
    if (s == 2) {
      hn::StoreInterleaved2(row(0), row(1), d, to);
    } else if (s == 3) {
      hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    } else {
      hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
    }
  }
  return t;
}

void PhaseInterleaver::Write(absl::Span<const float* const> rows, float otherwise,
                             float* to) const {
  const auto s = static_cast<int64_t>(rows.size());
  const bool exist =
      std::none_of(rows.begin(), rows.end(), [](const float* row) { return row == nullptr; });
  if (s == 1 && exist) {
    std::copy_n(rows[0] + begin_, count_, to);
    return;
  }
  const int64_t stop = exist && s >= 2 && s <= 4 ? WriteVectors(rows, to) : whole_.begin;
  for (int64_t phase = 0; phase < s; ++phase) {
    const float* const row = rows[phase];
    const IndexRange steps = steps_[phase];
    float* const at = to + phase - begin_;
    const auto put = [&](int64_t from, int64_t until) {
      for (int64_t t = from; t < until; ++t) at[t * s] = row == nullptr ? otherwise : row[t];
    };
    // The vectors lie in [whole_.begin, stop).
    put(steps.begin, std::min(whole_.begin, steps.end));
    put(std::max(stop, steps.begin), steps.end);
  }
}

}  // namespace attnrun::ops
