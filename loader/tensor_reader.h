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

// The source of the elements of tensors in one serialized message.
struct TensorSource {
  // The message that MakeSkeleton was given, and an object that keeps its bytes alive (may be
  // null).
  absl::string_view bytes;
  std::shared_ptr<const void> keep_alive;
  // If null, external data is refused.
  ExternalData* external = nullptr;
  // Bytes that the dense forms of sparse tensors may still take, all together. If null, any number.
  int64_t* dense_left = nullptr;
};

// The tensor of a TensorProto that was parsed from a skeleton: a view of its source if its elements
// have the same layout there as in memory, otherwise a copy. kInvalidArgument if type, dims and
// data disagree; also the errors of ExternalData::Open. The message does not name the tensor.
absl::StatusOr<Tensor> ReadTensor(const onnx::TensorProto& proto, const TensorSource& source);

// The dense form of a SparseTensorProto. Indices must ascend, either one linear index or one row of
// indices per value.
absl::StatusOr<Tensor> ReadSparseTensor(const onnx::SparseTensorProto& proto,
                                        const TensorSource& source);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_TENSOR_READER_H_
