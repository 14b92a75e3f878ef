// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_FILE_H_
#define ATTNRUN_RUNTIME_STATE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"
#include "state_layout.h"

namespace attnrun {

// The contents of a saved state.
struct SavedState {
  int64_t batch = 0;
  // One per value of the layout, dense; views of the file's bytes.
  std::vector<Tensor> tensors;
};

// A file of 64-bit numbers in this machine's byte order:
//   magic, format
//   content hash of the model (3 words), precision, batch, number of values
//   for each value: input, output, kind, axis, type, rank, extents, bytes, checksum of the bytes
//   checksum of all that
//   the bytes of each value, with zeros up to whole words
// It is written as a whole or not at all. kUnimplemented for strings; other errors are those of the
// file system, and name the path.
absl::Status WriteStateFile(const std::string& path, const StateLayout& layout, int64_t batch,
                            absl::Span<const Tensor> tensors);

// Reads a file for a model with these inputs, and calls `take` while its bytes are there.
// kInvalidArgument if it is damaged, not a saved state, or one of another model, precision or
// format; kNotFound, kPermissionDenied and kResourceExhausted. Messages begin with the path. Takes
// memory in proportion to the file. Also the errors of `take`.
absl::Status ReadStateFile(const std::string& path, const StateLayout& layout,
                           const std::vector<ValueInfo>& inputs,
                           absl::FunctionRef<absl::Status(const SavedState&)> take);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_FILE_H_
