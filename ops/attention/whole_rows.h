// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_H_
#define ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/streaming_attention.h"

// Attention in bf16 on AMX with all scores of 32 queries at a time, in place of tiles of keys with
// an online softmax. Keys and values of a head are packed once and stay in the second-level cache,
// weights are rounded while the exponentials are taken, and sums stay in tiles along all keys.
namespace attnrun::ops {

// True if the problem is computed so: in bf16, with adjacent channels, and with keys and values of
// a head that fit the second-level cache.
bool AttendsWholeRows(const AttentionProblem& problem);

// Bytes of scratch space for a thread, aligned to cache lines.
int64_t WholeRowsScratchBytes(const AttentionProblem& problem);

// As StreamingAttention. Precondition: AttendsWholeRows.
absl::Status AttendWholeRows(const AttentionProblem& problem, const MaskSummary& summary,
                             Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_H_
