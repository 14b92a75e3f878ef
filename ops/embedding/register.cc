// SPDX-License-Identifier: Apache-2.0
#include "ops/embedding/embedding_sum.h"
#include "ops/embedding/masked_mean.h"
#include "ops/interface/families.h"

namespace attnrun::ops {

void RegisterEmbedding(OpRegistry& registry) {
  registry.Register({"attnrun", "EmbeddingSum", {1}, ListOf(3, 16), {1, 1}, Make<EmbeddingSum>});
  registry.Register({"attnrun", "MaskedMean", {1}, {2, 2}, {1, 1}, Make<MaskedMean>});
}

}  // namespace attnrun::ops
