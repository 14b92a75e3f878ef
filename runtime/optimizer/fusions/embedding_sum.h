#ifndef ATTNRUN_OPTIMIZER_FUSIONS_EMBEDDING_SUM_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_EMBEDDING_SUM_H_

#include "optimizer/pass.h"

namespace attnrun {

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

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_EMBEDDING_SUM_H_
