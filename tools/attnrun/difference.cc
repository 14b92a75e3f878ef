#include "tools/attnrun/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/numbers.h"

namespace attnrun::cli {
namespace {

// A function of the number of an element, or of a part of a complex element.
using ByElement = absl::FunctionRef<double(size_t i)>;

struct Worst {
  double largest = 0;
  double allowed = 0;
  size_t place = 0;
  int64_t beyond = 0;
};

Worst FindWorst(size_t count, ByElement difference, ByElement allowed) {
  Worst worst;
  double furthest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {
    const double distance = difference(i);
    const double limit = allowed(i);
    worst.largest = std::max(worst.largest, distance);
    if (distance > limit) ++worst.beyond;
    if (distance - limit > furthest) {
      furthest = distance - limit;
      worst.place = i;
      worst.allowed = limit;
    }
  }
  return worst;
}

double Distance(double expected, double found) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return 0;
  const double distance = std::abs(expected - found);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

// Exact for every 64-bit integer.
double Distance(int64_t expected, int64_t found) {
  const auto low = static_cast<uint64_t>(std::min(expected, found));
  return static_cast<double>(static_cast<uint64_t>(std::max(expected, found)) - low);
}

double DefaultTolerance(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kComplex64:
    case DataType::kComplex128:
      return 1e-4;
    case DataType::kFloat16:
      return 2e-3;
    case DataType::kBfloat16:
      return 2e-2;
    default:
      return IsFloatingPoint(type) ? 0.2 : 0;
  }
}

// |expected| of an infinity or NaN allows nothing: those must be met exactly.
double FiniteMagnitude(double value) { return std::isfinite(value) ? std::abs(value) : 0; }

double LargestMagnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, FiniteMagnitude(value));
  return largest;
}

absl::StatusOr<Worst> CompareNumbers(const Tensor& expected, const Tensor& found,
                                     const Tolerance& tolerance) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> a, Numbers(expected));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> b, Numbers(found));
  const bool given = tolerance.atol.has_value() || tolerance.rtol.has_value();
  const double atol = given
                          ? tolerance.atol.value_or(0)
                          : DefaultTolerance(expected.type()) * std::max(1.0, LargestMagnitude(a));
  const double rtol = tolerance.rtol.value_or(0);
  const auto difference = [&](size_t i) { return Distance(a[i], b[i]); };
  const auto allowed = [&](size_t i) { return atol + rtol * FiniteMagnitude(a[i]); };
  return FindWorst(a.size(), difference, allowed);
}

absl::StatusOr<Worst> CompareIntegers(const Tensor& expected, const Tensor& found,
                                      const Tolerance& tolerance) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> a, ToInts(expected));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> b, ToInts(found));
  const double atol = tolerance.atol.value_or(0);
  const double rtol = tolerance.rtol.value_or(0);
  const auto difference = [&](size_t i) { return Distance(a[i], b[i]); };
  const auto allowed = [&](size_t i) { return atol + rtol * std::abs(static_cast<double>(a[i])); };
  return FindWorst(a.size(), difference, allowed);
}

absl::StatusOr<Worst> CompareStrings(const Tensor& expected, const Tensor& found) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> a, ToStrings(expected));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> b, ToStrings(found));
  return FindWorst(
      a.size(), [&](size_t i) { return a[i] == b[i] ? 0 : 1; }, [](size_t) { return 0; });
}

absl::StatusOr<Worst> CompareElements(const Tensor& expected, const Tensor& found,
                                      const Tolerance& tolerance) {
  if (expected.type() == DataType::kString) return CompareStrings(expected, found);
  return IsInteger(expected.type()) ? CompareIntegers(expected, found, tolerance)
                                    : CompareNumbers(expected, found, tolerance);
}

Shape IndexOf(int64_t element, absl::Span<const int64_t> shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

// One element in words. Packed types cannot be viewed in part.
absl::StatusOr<std::string> TextAt(const Tensor& tensor, int64_t element) {
  const bool packed = BitWidth(tensor.type()) < 8;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                           ElementTexts(packed ? tensor : tensor.View({1}, {1}, element)));
  return texts[packed ? element : 0];
}

}  // namespace

absl::StatusOr<Difference> Compare(const Tensor& expected, const Tensor& found,
                                   const Tolerance& tolerance) {
  Difference result;
  result.elements = expected.num_elements();
  if (expected.type() != found.type() || expected.shape() != found.shape()) {
    result.mismatch =
        absl::StrCat("expected ", TypeAndShape(expected), ", but found ", TypeAndShape(found));
    return result;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, expected.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor b, found.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const Worst worst, CompareElements(a, b, tolerance));
  result.ok = worst.beyond == 0;
  result.largest = worst.largest;
  result.allowed = worst.allowed;
  result.beyond = worst.beyond;
  if (result.elements == 0) return result;
  const bool complex = a.type() == DataType::kComplex64 || a.type() == DataType::kComplex128;
  const auto element = static_cast<int64_t>(worst.place) / (complex ? 2 : 1);
  result.index = IndexOf(element, a.shape());
  ATTNRUN_ASSIGN_OR_RETURN(result.expected, TextAt(a, element));
  ATTNRUN_ASSIGN_OR_RETURN(result.found, TextAt(b, element));
  return result;
}

std::string Describe(const Difference& difference) {
  if (!difference.mismatch.empty()) return difference.mismatch;
  std::string text = absl::StrFormat("largest difference %.3g, allowed %.3g", difference.largest,
                                     difference.allowed);
  if (difference.ok) return text;
  absl::StrAppend(&text, "; ", difference.beyond, " of ", difference.elements,
                  " elements are beyond it, the worst at ", ToString(difference.index),
                  ": expected ", difference.expected, ", but found ", difference.found);
  return text;
}

Json ToJson(const Difference& difference) {
  if (!difference.mismatch.empty()) return {{"ok", false}, {"mismatch", difference.mismatch}};
  return {{"ok", difference.ok},
          {"largest_difference", difference.largest},
          {"allowed", difference.allowed},
          {"index", std::vector<int64_t>(difference.index.begin(), difference.index.end())},
          {"expected", difference.expected},
          {"found", difference.found},
          {"beyond", difference.beyond},
          {"elements", difference.elements}};
}

}  // namespace attnrun::cli
