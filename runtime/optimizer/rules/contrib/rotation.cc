// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {

// x  position_ids  cos  sin: the standard's operator takes the positions last, one for each token.
bool ExpandRotaryEmbedding(Expansion& e) {
  Value* x = e.input(0);
  Value* ids = e.input(1);
  const int rank = e.facts().RankOf(x);
  const std::vector<SymInt>* known = e.facts().DimsOf(ids);
  if ((rank != 3 && rank != 4) || known == nullptr) {
    return e.Decline("the rank of its input, or of position_ids, is not known");
  }
  const auto pairs = e.facts().Extent(e.input(2), 1);
  const auto width = e.facts().Extent(x, -1);
  auto heads = e.Attribute<int64_t>("num_heads", 0);
  if (!pairs.has_value() || (rank == 3 && !width.has_value())) {
    return e.Decline("the size of its heads is not known");
  }
  if (heads < 0 || *pairs > INT64_MAX / 2) return e.Decline("there are no such heads");
  if (rank == 3 && heads == 0 && *pairs > 0) heads = *width / (2 * *pairs);
  // A single position is that of the first token of every sample.
  if (known->size() == 1) {
    Value* offsets = e.Range(e.ExtentOf(x, rank - 2));
    ids = e.Unsqueeze(e.Op("Add", {offsets, ids}), {0});
  }
  AttributeMap attributes = {{"interleaved", e.Attribute<int64_t>("interleaved", 0)},
                             {"rotary_embedding_dim", 2 * *pairs}};
  if (rank == 3) attributes["num_heads"] = heads;
  return e.Give(e.Op("RotaryEmbedding", {x, e.input(2), e.input(3), ids}, attributes));
}

}  // namespace attnrun::opt
