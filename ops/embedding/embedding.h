// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_
#define ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that turn ids into rows, and the rows of a text into one: EmbeddingSum, MaskedMean.
void RegisterEmbedding(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_
