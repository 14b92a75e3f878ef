// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_PACKED_HEADS_H_
#define ATTNRUN_OPS_ATTENTION_PACKED_HEADS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "attnrun/tensor.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops {

// The columns of X [batch, sequence, width] that are heads to work on: `size` columns from each of
// the ascending `offsets` on. Attributes head_size (int) and head_offsets (ints).
struct HeadColumns {
  int64_t size = 0;
  std::vector<int64_t> offsets;

  static HeadColumns Read(AttributeReader& attributes);

  // kInvalidArgument unless X is floats of rank 3 and holds all of the heads without overlap.
  absl::Status Check(const Tensor& x) const;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_PACKED_HEADS_H_
