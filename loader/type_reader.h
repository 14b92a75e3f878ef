// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_TYPE_READER_H_
#define ATTNRUN_LOADER_TYPE_READER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// The type that a TypeProto declares, unknown where it declares nothing. An extent of -1 counts as
// unknown, because old exporters write it so. kInvalidArgument for unknown element types and for
// other negative extents.
absl::StatusOr<Type> ReadType(const onnx::TypeProto& proto);

// kInvalidArgument, naming the value, unless `data` agrees with the declared type.
absl::Status CheckDeclaration(absl::string_view name, const Tensor& data, const Type& declared);

// Adds a declaration to the known type of a value. kInvalidArgument if two element types contradict
// each other, or if the declaration contradicts the value's data.
absl::Status Declare(Value* value, const Type& declared);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_TYPE_READER_H_
