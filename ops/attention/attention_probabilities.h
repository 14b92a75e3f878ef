// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ATTENTION_PROBABILITIES_H_
#define ATTNRUN_OPS_ATTENTION_ATTENTION_PROBABILITIES_H_

#include "absl/status/status.h"
#include "attnrun/tensor.h"
#include "ops/attention/streaming_attention.h"

namespace attnrun::ops {

// As StreamingAttention, but also stores the softmax in `probabilities` [batch, query_heads,
// queries, keys], dense. A row whose scores are all -inf is masked_row in both. The bits of an
// element depend neither on threads nor on other rows. Precondition: the channels of y are
// adjacent.
absl::Status AttentionWithProbabilities(const AttentionProblem& problem, float* probabilities,
                                        Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ATTENTION_PROBABILITIES_H_
