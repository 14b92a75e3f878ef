// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_DATA_TYPE_H_
#define ATTNRUN_DATA_TYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "attnrun/export.h"

namespace attnrun {

// Element types of tensors. The numbers are those of ONNX's TensorProto.DataType (IR version 14),
// but for that of kSequence.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  // Elements are tensors themselves: see Tensor::Sequence.
  kSequence = 31,
};

// True for the types of numbers, bools and strings: every enumerator but kUndefined and kSequence.
ATTNRUN_EXPORT bool IsValid(DataType type);

// ONNX's spelling in type strings, lower case: "float", "int64", "float8e4m3fn".
ATTNRUN_EXPORT absl::string_view Name(DataType type);

// Bits of one element in memory: 2 and 4 for the packed types, 8 for bool, 8 * sizeof(std::string)
// for strings, 8 * sizeof(Tensor) for sequences.
ATTNRUN_EXPORT int BitWidth(DataType type);

// True for float16, bfloat16, float, double and the 8- and 4-bit floats.
ATTNRUN_EXPORT bool IsFloatingPoint(DataType type);

// True for the signed and unsigned integers of every width; not for bool.
ATTNRUN_EXPORT bool IsInteger(DataType type);

// True for the signed integers.
ATTNRUN_EXPORT bool IsSignedInteger(DataType type);

}  // namespace attnrun

#endif  // ATTNRUN_DATA_TYPE_H_
