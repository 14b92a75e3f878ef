// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/numbers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

bool IsComplex(DataType type) {
  return type == DataType::kComplex64 || type == DataType::kComplex128;
}

absl::StatusOr<std::vector<double>> PartsOf(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::complex<double>> values, ToComplex(tensor));
  std::vector<double> parts;
  parts.reserve(2 * values.size());
  for (const std::complex<double>& value : values) {
    parts.push_back(value.real());
    parts.push_back(value.imag());
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::vector<double>> Numbers(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense());
  return IsComplex(dense.type()) ? PartsOf(dense) : ToDoubles(dense);
}

absl::StatusOr<std::vector<Tensor>> Pieces(const Tensor& dense) {
  constexpr int64_t kAtMost = 1 << 20;
  const int64_t bits = BitWidth(dense.type());
  std::vector<Tensor> pieces;
  for (int64_t begin = 0; begin < dense.num_elements(); begin += kAtMost) {
    const int64_t count = std::min(kAtMost, dense.num_elements() - begin);
    if (bits >= 8) {
      pieces.push_back(dense.View({count}, {1}, begin));
      continue;
    }
    // Packed types have no views of parts, but every piece begins with a whole byte.
    const auto* const data = static_cast<const char*>(dense.raw()) + begin * bits / 8;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor piece, Tensor::Borrow(dense.type(), {count}, data,
                                                          DivCeil(count * bits, int64_t{8})));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::string Figure(double value) {
  // Above 2^53, doubles are no longer exact integers.
  constexpr double kExact = 9007199254740992.0;
  if (value == std::trunc(value) && std::abs(value) < kExact) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  return absl::StrFormat("%.6g", value);
}

absl::StatusOr<std::vector<std::string>> ElementTexts(const Tensor& tensor) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense());
  std::vector<std::string> texts;
  if (dense.type() == DataType::kString) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> strings, ToStrings(dense));
    for (const std::string& string : strings) {
      texts.push_back(absl::StrCat("'", Printable(string), "'"));
    }
  } else if (IsComplex(dense.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> parts, PartsOf(dense));
    for (size_t i = 0; i < parts.size(); i += 2) {
      texts.push_back(absl::StrFormat("%s%s%sj", Figure(parts[i]), parts[i + 1] < 0 ? "" : "+",
                                      Figure(parts[i + 1])));
    }
  } else if (IsInteger(dense.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, ToInts(dense));
    const bool wraps = dense.type() == DataType::kUint64;
    for (const int64_t value : integers) {
      texts.push_back(wraps ? absl::StrCat(static_cast<uint64_t>(value)) : absl::StrCat(value));
    }
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(dense));
    for (const double number : numbers) texts.push_back(Figure(number));
  }
  return texts;
}

}  // namespace attnrun::cli
