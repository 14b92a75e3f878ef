// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_ATTRIBUTES_H_
#define ATTNRUN_LOADER_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "graph/attribute.h"
#include "loader/tensor_reader.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// The kind of value an attribute declares, or, as in files of IR version 1, the one it holds.
// kInvalidArgument if it holds none, or another than it declares.
absl::StatusOr<onnx::AttributeProto::AttributeType> ReadAttributeKind(
    const onnx::AttributeProto& proto);

// The value of an attribute of any kind but graph; sparse tensors are made dense. kUnimplemented
// for lists of graphs, sparse tensors and types. The message does not name the attribute.
absl::StatusOr<AttributeValue> ReadAttribute(const onnx::AttributeProto& proto,
                                             const TensorSource& source);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_ATTRIBUTES_H_
