// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_NPY_HEADER_H_
#define ATTNRUN_TOOLS_ATTNRUN_NPY_HEADER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/data_type.h"
#include "attnrun/shape.h"
#include "tools/attnrun/byte_source.h"

namespace attnrun::cli {

// How one array element lies in an .npy file.
struct NpyElement {
  enum class Kind { kNumber, kBool, kBytes, kUnicode };

  Kind kind = Kind::kNumber;
  // What the element is in a Tensor; raw bytes (V1, V2, f1) are uint8 and uint16.
  DataType type = DataType::kUndefined;
  int64_t bytes = 0;
  // Stored with the other byte order than this machine's, in units of `swap_unit` bytes.
  bool swapped = false;
  int swap_unit = 1;
};

// What stands before the elements (NumPy "NEP 1", format versions 1.0, 2.0 and 3.0).
struct NpyHeader {
  NpyElement element;
  bool fortran_order = false;
  Shape shape;
};

// "<f4", ">i8", "|b1", "<U5", "|S3", "|V2" and so on; kInvalidArgument naming the dtype otherwise.
absl::StatusOr<NpyElement> ParseDescr(absl::string_view descr);

// Reads everything before the elements. kInvalidArgument for what is not an .npy file.
absl::StatusOr<NpyHeader> ReadNpyHeader(ByteSource& source);

// The bytes before the elements of a row-major array, padded to a multiple of 64.
std::string FormatNpyHeader(absl::string_view descr, absl::Span<const int64_t> shape);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NPY_HEADER_H_
