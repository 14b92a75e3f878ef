// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/cast.h"

namespace attnrun::ops {
namespace {

std::optional<double> ParseFloat(absl::string_view text, DataType to) {
  // Parsed in the target type, so that it is not rounded twice.
  float single = 0;
  double value = 0;
  if (to == DataType::kFloat && absl::SimpleAtof(text, &single)) return single;
  if (to != DataType::kFloat && absl::SimpleAtod(text, &value)) return value;
  return std::nullopt;
}

// uint64 is returned as its two's complement. A fraction is cut off: "100.5" gives 100.
std::optional<int64_t> ParseInteger(absl::string_view text) {
  int64_t value = 0;
  uint64_t large = 0;
  double number = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  if (absl::SimpleAtoi(text, &large)) return static_cast<int64_t>(large);
  if (absl::SimpleAtod(text, &number) && std::fabs(number) < 0x1p63) {
    return static_cast<int64_t>(number);
  }
  return std::nullopt;
}

std::optional<int64_t> ParseBool(absl::string_view text) {
  double number = 0;
  bool value = false;
  if (absl::SimpleAtod(text, &number)) return number != 0 ? 1 : 0;
  if (absl::SimpleAtob(text, &value)) return value ? 1 : 0;
  return std::nullopt;
}

absl::Status NotANumber(const std::string& text, DataType to) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the string \"", absl::CHexEscape(text.substr(0, 40)), "\" cannot be cast to ", Name(to)));
}

template <typename T>
std::string Shortest(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  // The smallest double has 1074 places after the point.
  char buffer[1100];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return std::string(buffer, end.ptr);
}

std::vector<std::string> Format(const std::vector<double>& values, DataType type) {
  std::vector<std::string> result;
  for (const double value : values) {
    result.push_back(type == DataType::kDouble ? Shortest(value)
                                               : Shortest(static_cast<float>(value)));
  }
  return result;
}

std::vector<std::string> Format(const std::vector<int64_t>& values, DataType type) {
  std::vector<std::string> result;
  for (const int64_t value : values) {
    if (type == DataType::kBool) {
      result.emplace_back(value != 0 ? "1" : "0");
    } else {
      result.push_back(type == DataType::kUint64 ? absl::StrCat(static_cast<uint64_t>(value))
                                                 : absl::StrCat(value));
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Tensor> CastFromStrings(const Tensor& x, DataType to, const CastRules& rules,
                                       Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToStrings(x));
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  for (const std::string& text : texts) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(text);
    if (IsFloatingPoint(to)) {
      const std::optional<double> value = ParseFloat(stripped, to);
      if (!value.has_value()) return NotANumber(text, to);
      numbers.push_back(*value);
    } else {
      const std::optional<int64_t> value =
          to == DataType::kBool ? ParseBool(stripped) : ParseInteger(stripped);
      if (!value.has_value()) return NotANumber(text, to);
      integers.push_back(*value);
    }
  }
  if (!IsFloatingPoint(to)) return FromInts(to, x.shape(), integers, allocator);
  // Shorter floats follow the rules for numbers.
  const DataType exact = to == DataType::kFloat ? DataType::kFloat : DataType::kDouble;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor parsed, FromDoubles(exact, x.shape(), numbers, allocator));
  return CastTensor(parsed, to, rules, allocator);
}

absl::StatusOr<Tensor> CastToStrings(const Tensor& x, Allocator& allocator) {
  std::vector<std::string> texts;
  if (IsFloatingPoint(x.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
    texts = Format(values, x.type());
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(x));
    texts = Format(values, x.type());
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DataType::kString, x.shape(), allocator));
  std::move(texts.begin(), texts.end(), y.mutable_data<std::string>());
  return y;
}

}  // namespace attnrun::ops
