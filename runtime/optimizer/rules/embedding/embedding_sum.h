// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_EMBEDDING_EMBEDDING_SUM_H_
#define ATTNRUN_OPTIMIZER_RULES_EMBEDDING_EMBEDDING_SUM_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Rows of several tables added up:
//
//   Gather(words, ids)   Gather(types, type_ids)
//              \___ Add ___/
//                    |      Slice(positions, 0, S)
//                   Add ______/
//   -->
//   EmbeddingSum(words, ids, types, type_ids, positions)
//
// in any order. The tables are constants, the ids all of one shape.
absl::StatusOr<int> FuseEmbeddingSum(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_EMBEDDING_EMBEDDING_SUM_H_
