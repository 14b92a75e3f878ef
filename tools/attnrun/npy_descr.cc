// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/attnrun/npy_header.h"

namespace attnrun::cli {
namespace {

struct NumberFormat {
  char kind;
  int bytes;
  DataType type;
  int swap_unit;
};

// NumPy has no bfloat16 and no 8-bit floats; they are written as V2, V1 and f1.
constexpr std::array<NumberFormat, 17> kNumbers = {{
    {'b', 1, DataType::kBool, 1},
    {'i', 1, DataType::kInt8, 1},
    {'i', 2, DataType::kInt16, 2},
    {'i', 4, DataType::kInt32, 4},
    {'i', 8, DataType::kInt64, 8},
    {'u', 1, DataType::kUint8, 1},
    {'u', 2, DataType::kUint16, 2},
    {'u', 4, DataType::kUint32, 4},
    {'u', 8, DataType::kUint64, 8},
    {'f', 1, DataType::kUint8, 1},
    {'f', 2, DataType::kFloat16, 2},
    {'f', 4, DataType::kFloat, 4},
    {'f', 8, DataType::kDouble, 8},
    {'c', 8, DataType::kComplex64, 4},
    {'c', 16, DataType::kComplex128, 8},
    {'V', 1, DataType::kUint8, 1},
    {'V', 2, DataType::kUint16, 2},
}};

absl::StatusOr<NpyElement> Unknown(absl::string_view descr) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected numbers, bool or strings, but found dtype '", descr, "'"));
}

}  // namespace

absl::StatusOr<NpyElement> ParseDescr(absl::string_view descr) {
  absl::string_view rest = descr;
  char order = '=';
  if (!rest.empty() && absl::string_view("<>|=").find(rest[0]) != absl::string_view::npos) {
    order = rest[0];
    rest.remove_prefix(1);
  }
  uint32_t size = 0;
  constexpr uint32_t kLargest = INT32_MAX / 4;
  if (rest.size() < 2 || !absl::SimpleAtoi(rest.substr(1), &size) || size > kLargest) {
    return Unknown(descr);
  }
  NpyElement element{.bytes = size, .swapped = order == '>'};
  if (rest[0] == 'S' || rest[0] == 'U') {
    element.kind = rest[0] == 'S' ? NpyElement::Kind::kBytes : NpyElement::Kind::kUnicode;
    element.type = DataType::kString;
    if (rest[0] == 'U') element.bytes *= 4;
    return element;
  }
  for (const NumberFormat& format : kNumbers) {
    if (format.kind != rest[0] || format.bytes != element.bytes) continue;
    element.kind = rest[0] == 'b' ? NpyElement::Kind::kBool : NpyElement::Kind::kNumber;
    element.type = format.type;
    element.swap_unit = format.swap_unit;
    return element;
  }
  return Unknown(descr);
}

}  // namespace attnrun::cli
