// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_CACHE_TYPE_H_
#define ATTNRUN_RUNTIME_CACHE_TYPE_H_

#include <vector>

#include "absl/status/status.h"
#include "attnrun/data_type.h"
#include "attnrun/model_info.h"
#include "graph/graph.h"
#include "state_layout.h"

namespace attnrun {

// Gives float caches another type, as SessionOptions::cache_type says: those that are appended to,
// windows and static ones, where only operators that move elements lead through. `graph` may be
// optimized. Changes the types in `layout`, `inputs` and `outputs`, which are as the model declares
// them, and for int8 the last extents, too.
//
//   Append(past: float, update) -> present, K of Attention, input of others
//     becomes
//   Append(past: half, Cast(update)) -> present, K of Attention, Cast -> input of others
//     or, with rows of bytes [..., H + 4],
//   Append(past: int8, QuantizeRows(update)) -> present, K of Attention,
//                                               DequantizeRows -> input of others
//
// New positions are rounded before attention reads them, so that the bits of a run do not depend on
// the steps in which a text is read.
absl::Status StoreCachesAs(DataType type, Graph& graph, StateLayout& layout,
                           std::vector<ValueInfo>& inputs, std::vector<ValueInfo>& outputs);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_CACHE_TYPE_H_
