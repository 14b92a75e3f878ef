// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_SKELETON_H_
#define ATTNRUN_LOADER_SKELETON_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attnrun::loader {

// Subgraphs and function calls may be nested this deep. It bounds every recursion over a model.
inline constexpr int kMaxNesting = 100;

// What a file holds at its top.
enum class RootMessage { kModel, kTensor };

// Where a tensor's elements lie in a serialized message.
struct Payload {
  uint64_t offset = 0;
  uint64_t size = 0;
  // The field of TensorProto that holds them: raw_data, float_data or double_data. All three are
  // little-endian and dense on the wire.
  uint64_t field = 0;
};

// A copy of a serialized ModelProto or TensorProto that protobuf can parse whatever the size of the
// original: the elements of each tensor are replaced by a note of where they lie, which takes the
// place of raw_data (see ReadPayload), and fields that do not bear on what a model computes are
// left out. float_data and double_data are replaced where they are the tensor's only data and in
// one piece, as all known writers have them. kDataLoss if the bytes are no such message, truncated
// ones included; kInvalidArgument if graphs are nested deeper than kMaxNesting.
absl::StatusOr<std::string> MakeSkeleton(absl::string_view bytes, RootMessage root);

// The note in the raw_data of a TensorProto parsed from a skeleton. Precondition: it has raw_data.
Payload ReadPayload(absl::string_view raw_data);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_SKELETON_H_
