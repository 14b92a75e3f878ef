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

// The layout of one array element in an .npy file.
struct NpyElement {
  enum class Kind { kNumber, kBool, kBytes, kUnicode };

  Kind kind = Kind::kNumber;
  // The type of the element in a Tensor; raw bytes (V1, V2, f1) are uint8 and uint16.
  DataType type = DataType::kUndefined;
  int64_t bytes = 0;
  // True if the byte order is not this machine's; bytes are swapped in units of `swap_unit`.
  bool swapped = false;
  int swap_unit = 1;
};

// The part of the file before the elements (NumPy "NEP 1", format versions 1.0, 2.0 and 3.0).
struct NpyHeader {
  NpyElement element;
  bool fortran_order = false;
  Shape shape;
};

// Parses "<f4", ">i8", "|b1", "<U5", "|S3", "|V2" and so on; kInvalidArgument, naming the dtype,
// for others.
absl::StatusOr<NpyElement> ParseDescr(absl::string_view descr);

// Reads everything before the elements. kInvalidArgument if this is not an .npy file.
absl::StatusOr<NpyHeader> ReadNpyHeader(ByteSource& source);

// The bytes before the elements of a row-major array, padded to a multiple of 64.
std::string FormatNpyHeader(absl::string_view descr, absl::Span<const int64_t> shape);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_NPY_HEADER_H_
