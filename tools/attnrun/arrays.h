// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_
#define ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// The side of the model that arrays belong to.
enum class Role { kInput, kOutput };

// Reads each file by its name's declared input or output: an .npy array, or a .pb (serialized ONNX
// TensorProto, SequenceProto or OptionalProto). "x/0" names a tensor of the sequence x; see
// parts.h. kInvalidArgument if there is no input or output of a name. Adds to `values`.
absl::Status ReadFiles(const std::map<std::string, std::string>& files, Role role,
                       const std::vector<ValueInfo>& declared, TensorMap& values);

// Reads the arrays of `path`: an .npz archive of arrays by the names of inputs or outputs, as
// ReadFiles takes them; or a folder of an ONNX test data set, in which input_<k>.pb or
// output_<k>.pb is the model's k-th (or a folder that contains test_data_set_0). They need not be
// complete. kInvalidArgument for names and numbers that the model does not have.
absl::StatusOr<TensorMap> ReadArrays(const std::string& path, Role role,
                                     const std::vector<ValueInfo>& declared);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_ARRAYS_H_
