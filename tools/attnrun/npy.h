// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NPY_H_
#define ATTNRUN_TOOLS_ATTNRUN_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/byte_source.h"

namespace attnrun::cli {

// Reads an array in NumPy's .npy format: bool, integers, float16 to float64, complex, byte strings
// and Unicode strings (as UTF-8), of either byte order, row- or column-major. Raw one- and two-byte
// elements (V1, V2, f1: how bfloat16 and the 8-bit floats are stored, as NumPy lacks them) become
// uint8 and uint16. kInvalidArgument for anything else, and for a size that is not what the header
// announces.
absl::StatusOr<Tensor> ReadNpy(ByteSource& source);
absl::StatusOr<Tensor> ReadNpyFile(const std::string& path);

// An array in .npy format, in two parts.
struct NpyBytes {
  std::string header;
  // Row-major and little-endian; keeps its bytes alive.
  Tensor elements;
};

// bfloat16 is written as raw V2, the 8-bit floats as V1, the 4- and 2-bit integers as (u)int8 and
// float4 as V1, one element per byte; strings as Unicode, or as bytes if one of them is not UTF-8.
absl::StatusOr<NpyBytes> ToNpy(const Tensor& tensor);

// `tensor` as the element type that a model declares, where .npy files cannot say it: uint16 bits
// as bfloat16, uint8 bits as an 8-bit float, one (u)int8 per element as a 4- or 2-bit type.
// Unchanged where the types agree or do not fit; the session refuses those.
absl::StatusOr<Tensor> AsDeclared(const Tensor& tensor, DataType declared);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NPY_H_
