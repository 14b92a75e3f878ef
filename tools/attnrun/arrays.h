// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_
#define ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// The side of the model that arrays belong to.
enum class Role { kInput, kOutput };

// Reads `file`, an .npy array or a .pb (serialized ONNX TensorProto), as the declared input or
// output `name`. kInvalidArgument if there is none of that name.
absl::StatusOr<Tensor> ReadArray(const std::string& file, const std::string& name, Role role,
                                 const std::vector<ValueInfo>& declared);

// Reads the arrays of `path`: an .npz archive with one array per input or output, under its name;
// or a folder of an ONNX test data set, in which input_<k>.pb or output_<k>.pb is the model's k-th
// (or a folder that contains test_data_set_0). They need not be complete. kInvalidArgument for
// names and numbers that the model does not have.
absl::StatusOr<TensorMap> ReadArrays(const std::string& path, Role role,
                                     const std::vector<ValueInfo>& declared);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_
