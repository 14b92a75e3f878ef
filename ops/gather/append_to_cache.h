// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_APPEND_TO_CACHE_H_
#define ATTNRUN_OPS_GATHER_APPEND_TO_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The checked inputs of AppendToCache.
struct CacheAppend {
  int64_t batch = 0;
  int64_t heads = 0;
  // The number of positions of the past (P), of the update (S) and of the result (T).
  int64_t before = 0;
  int64_t count = 0;
  int64_t after = 0;
  int64_t size = 0;
  // Per sample: the position in [0, P] at which the update begins, and the number of dropped
  // positions.
  absl::InlinedVector<int64_t, 8> starts = {};
  absl::InlinedVector<int64_t, 8> dropped = {};

  Shape shape() const { return {batch, heads, after, size}; }
  // True if the result is the whole past and the whole update behind it.
  bool only_appends() const {
    const auto starts_at_end = [this](int64_t start) { return start == before; };
    const auto drops_none = [](int64_t count) { return count == 0; };
    return after == before + count && std::all_of(starts.begin(), starts.end(), starts_at_end) &&
           std::all_of(dropped.begin(), dropped.end(), drops_none);
  }
  // True if the result is the past with the update in place of some positions, and zeros behind it.
  bool only_overwrites() const {
    for (int64_t b = 0; b < batch; ++b) {
      if (dropped[b] != 0 || starts[b] > after - count) return false;
    }
    return after == before;
  }
};

// attnrun.AppendToCache-1, made by the optimizer (past [B, N, P, H], update [B, N, S, H], used
// int64 [B], total, dropped? int64 [B]) -> [B, N, T, H]: for sample b the first used[b] positions
// of the past, then the update, without the first dropped[b] of both together, then zeros. `total`
// is one integer of at most P + S; T = max(P, total), or total if `dropped` is given. P is at least
// the attribute `room` (0).
class AppendToCache final : public Op {
 public:
  explicit AppendToCache(AttributeReader& attributes) : room_(attributes.Int("room", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs may be strided.
  absl::StatusOr<CacheAppend> Resolve(const OpContext& context) const;

 private:
  int64_t room_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_APPEND_TO_CACHE_H_
