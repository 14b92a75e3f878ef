// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_H_
#define ATTNRUN_OPS_ATTENTION_FEW_QUERIES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/streaming_attention.h"

namespace attnrun::ops {

// True if AttendFewQueries takes this problem: a decoder's step, in which a few rows read all of a
// long cache.
bool HasFewQueries(const AttentionProblem& problem);

// StreamingAttention with the same bits, arranged for reading the cache at the speed of memory:
// threads share heads that they cannot divide evenly, and keys are neither packed nor copied.
// Returns false, and leaves y unspecified, if a tile would have to be deferred (see
// TiledAttention).
absl::StatusOr<bool> AttendFewQueries(const AttentionProblem& problem, const MaskSummary& summary,
                                      Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_FEW_QUERIES_H_
