// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_SKELETON_H_
#define ATTNRUN_LOADER_SKELETON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attnrun::loader {

// How deep subgraphs and function calls may be nested. Bounds every recursion over a model.
inline constexpr int kMaxNesting = 100;

// The type of message that a file holds.
enum class RootMessage { kModel, kTensor };

// The position of a tensor's elements in a serialized message.
struct Payload {
  uint64_t offset = 0;
  uint64_t size = 0;
  // The TensorProto field that holds them: raw_data, float_data or double_data. All three are
  // little-endian and dense on the wire.
  uint64_t field = 0;
};

// A copy of a serialized ModelProto or TensorProto, small enough for protobuf whatever the size of
// the original. The elements of each tensor are replaced by a Payload, stored in place of raw_data,
// which gives their position (see ReadPayload). Fields that do not affect the computation are left
// out. float_data and double_data are replaced only if they are the tensor's only data and in one
// piece, as all known writers store them. kDataLoss if the bytes are truncated or not such a
// message; kInvalidArgument if graphs are nested deeper than kMaxNesting.
absl::StatusOr<std::string> MakeSkeleton(absl::string_view bytes, RootMessage root);

// The Payload in the raw_data of a TensorProto that was parsed from a skeleton. Precondition: it
// has raw_data.
Payload ReadPayload(absl::string_view raw_data);

// The bodies of the message's fields of this number, which are messages or strings. kDataLoss if
// the bytes are truncated or no message.
absl::StatusOr<std::vector<absl::string_view>> FieldBodies(absl::string_view bytes, int number);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_SKELETON_H_
