// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_TENSOR_READER_H_
#define ATTNRUN_LOADER_TENSOR_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "loader/external_data.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// Where the tensors of one serialized message have their elements.
struct TensorSource {
  // The message of which MakeSkeleton was made, and what keeps these bytes alive (may be null).
  absl::string_view bytes;
  std::shared_ptr<const void> keep_alive;
  // Null: external data is refused.
  ExternalData* external = nullptr;
};

// The tensor of a TensorProto parsed from a skeleton: a view of its source where its elements lie
// there as they do in memory, else a copy. kInvalidArgument if type, dims and data disagree; errors
// of ExternalData::Open. The message does not name the tensor.
absl::StatusOr<Tensor> ReadTensor(const onnx::TensorProto& proto, const TensorSource& source);

// The dense form of a SparseTensorProto (indices linear or one row per value, ascending).
absl::StatusOr<Tensor> ReadSparseTensor(const onnx::SparseTensorProto& proto,
                                        const TensorSource& source);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_TENSOR_READER_H_
