// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_TYPE_READER_H_
#define ATTNRUN_LOADER_TYPE_READER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// The type a TypeProto declares; unknown where it says nothing. An extent of -1 counts as unknown,
// as old exporters write it. kInvalidArgument for unknown element types and other negative extents.
absl::StatusOr<Type> ReadType(const onnx::TypeProto& proto);

// kInvalidArgument unless a value of that name and data may be declared so.
absl::Status CheckDeclaration(absl::string_view name, const Tensor& data, const Type& declared);

// Adds what a declaration says to what is known of the value. kInvalidArgument if the element types
// contradict each other, or the declared shape that of the value's data.
absl::Status Declare(Value* value, const Type& declared);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_TYPE_READER_H_
