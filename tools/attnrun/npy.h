// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NPY_H_
#define ATTNRUN_TOOLS_ATTNRUN_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/byte_source.h"

namespace attnrun::cli {

// Reads an array in NumPy's .npy format: bool, integers, float16 to float64, complex numbers, byte
// strings and Unicode strings (as UTF-8), in either byte order, row- or column-major. Raw one- and
// two-byte elements (V1, V2, f1), which store bfloat16 and 8-bit floats since NumPy lacks them,
// become uint8 and uint16. kInvalidArgument for anything else, and if the size does not match the
// header.
absl::StatusOr<Tensor> ReadNpy(ByteSource& source);
absl::StatusOr<Tensor> ReadNpyFile(const std::string& path);

// An array in .npy format, as header and elements.
struct NpyBytes {
  std::string header;
  // Row-major and little-endian; owns or keeps alive its bytes.
  Tensor elements;
};

// Converts a tensor to .npy. bfloat16 is written as raw V2 and 8-bit floats as V1; 4- and 2-bit
// integers as (u)int8 and float4 as V1, one element per byte; strings as Unicode, or as bytes if
// one of them is not UTF-8.
absl::StatusOr<NpyBytes> ToNpy(const Tensor& tensor);

// Converts `tensor` to the type that the model declares, for types that .npy files cannot express:
// uint16 bits to bfloat16, uint8 bits to an 8-bit float, one (u)int8 per element to a 4- or 2-bit
// type. Returns it unchanged if the types agree or do not fit; the session refuses the latter.
absl::StatusOr<Tensor> AsDeclared(const Tensor& tensor, DataType declared);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NPY_H_
