#ifndef ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_
#define ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_

#include "ops/registry.h"

namespace attnrun {

// From ids to rows, and from the rows of a text to one: EmbeddingSum, MaskedMean.
void RegisterEmbedding(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_EMBEDDING_EMBEDDING_H_
