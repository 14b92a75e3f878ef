// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_ATTRIBUTES_H_
#define ATTNRUN_LOADER_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "graph/attribute.h"
#include "loader/tensor_reader.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// The kind of value that an attribute declares; if it declares none, as in files of IR version 1,
// the kind it holds. kInvalidArgument if it holds nothing, or a kind other than declared.
absl::StatusOr<onnx::AttributeProto::AttributeType> ReadAttributeKind(
    const onnx::AttributeProto& proto);

// The value of an attribute of any kind except graph; sparse tensors are converted to dense ones.
// kUnimplemented for lists of graphs, sparse tensors or types. The message does not name the
// attribute.
absl::StatusOr<AttributeValue> ReadAttribute(const onnx::AttributeProto& proto,
                                             const TensorSource& source);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_ATTRIBUTES_H_
