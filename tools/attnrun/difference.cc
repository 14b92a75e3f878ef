// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/numbers.h"
#include "tools/attnrun/worst.h"

namespace attnrun::cli {
namespace {

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

// An infinity or NaN allows no difference: it must be met exactly.
double FiniteMagnitude(double value) { return std::isfinite(value) ? std::abs(value) : 0; }

absl::StatusOr<double> LargestMagnitude(const std::vector<Tensor>& pieces) {
  double largest = 0;
  for (const Tensor& piece : pieces) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(piece));
    for (const double value : values) largest = std::max(largest, FiniteMagnitude(value));
  }
  return largest;
}

// The default tolerance depends on all elements, so it is computed before the comparison.
absl::StatusOr<Tolerance> Resolve(const Tolerance& tolerance, DataType type,
                                  const std::vector<Tensor>& expected) {
  const bool given = tolerance.atol.has_value() || tolerance.rtol.has_value();
  if (given || IsInteger(type) || type == DataType::kString) return tolerance;
  ATTNRUN_ASSIGN_OR_RETURN(const double largest, LargestMagnitude(expected));
  Tolerance resolved = tolerance;
  const double source = DefaultTolerance(tolerance.computed_from.value_or(type));
  resolved.atol = std::max(DefaultTolerance(type), source) * std::max(1.0, largest);
  return resolved;
}

absl::StatusOr<Worst> CompareNumbers(const Tensor& expected, const Tensor& found,
                                     const Tolerance& tolerance) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> a, Numbers(expected));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> b, Numbers(found));
  const double atol = tolerance.atol.value_or(0);
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

absl::StatusOr<Worst> CompareElements(const std::vector<Tensor>& expected,
                                      const std::vector<Tensor>& found, const Tolerance& tolerance,
                                      int parts) {
  Worst worst;
  size_t before = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const Worst piece, CompareElements(expected[i], found[i], tolerance));
    Join(worst, piece, before);
    before += expected[i].num_elements() * parts;
  }
  return worst;
}

Shape IndexOf(int64_t element, absl::Span<const int64_t> shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

// One element as text.
absl::StatusOr<std::string> TextAt(const std::vector<Tensor>& pieces, int64_t element) {
  const int64_t each = pieces[0].num_elements();
  const Tensor& piece = pieces[element / each];
  const int64_t place = element % each;
  // Packed types have no views of parts.
  const bool packed = BitWidth(piece.type()) < 8;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                           ElementTexts(packed ? piece : piece.View({1}, {1}, place)));
  return texts[packed ? place : 0];
}

std::string NameOf(const Tensor& value) {
  return value.defined() ? TypeAndShape(value) : "an optional without an element";
}

// The result for values without elements to compare one by one; nullopt for the others.
std::optional<Difference> Unlike(const Tensor& expected, const Tensor& found) {
  Difference result;
  result.elements = expected.num_elements();
  const std::string name = NameOf(expected);
  if (name != NameOf(found)) {
    result.mismatch = absl::StrCat("expected ", name, ", but found ", NameOf(found));
    return result;
  }
  if (expected.defined()) return std::nullopt;
  result.ok = true;
  return result;
}

// The worst tensor's difference, whose index begins with the tensor's. `beyond` and `elements` are
// sums over all of them.
absl::StatusOr<Difference> CompareSequences(const Tensor& expected, const Tensor& found,
                                            const Tolerance& tolerance) {
  Difference worst;
  worst.ok = true;
  int64_t beyond = 0;
  int64_t elements = 0;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Difference one,
                             Compare(expected.tensors()[i], found.tensors()[i], tolerance));
    if (!one.mismatch.empty()) {
      one.mismatch = absl::StrCat("tensor ", i, ": ", one.mismatch);
      return one;
    }
    beyond += one.beyond;
    elements += one.elements;
    if (i > 0 && (one.ok != worst.ok ? one.ok : one.largest <= worst.largest)) continue;
    worst = std::move(one);
    worst.index.insert(worst.index.begin(), i);
  }
  worst.beyond = beyond;
  worst.elements = elements;
  return worst;
}

}  // namespace

void AddSource(const Tensor& value, Tolerance& tolerance) {
  // Floats of 8 and 4 bits would allow anything.
  const bool half = value.type() == DataType::kFloat16 || value.type() == DataType::kBfloat16;
  const bool bfloat = tolerance.computed_from == DataType::kBfloat16;
  if (half && !bfloat) tolerance.computed_from = value.type();
}

absl::StatusOr<Difference> Compare(const Tensor& expected, const Tensor& found,
                                   const Tolerance& tolerance) {
  if (std::optional<Difference> unlike = Unlike(expected, found)) return *std::move(unlike);
  if (expected.is_sequence()) return CompareSequences(expected, found, tolerance);
  Difference result;
  result.elements = expected.num_elements();
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, expected.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor b, found.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> as, Pieces(a));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> bs, Pieces(b));
  ATTNRUN_ASSIGN_OR_RETURN(const Tolerance resolved, Resolve(tolerance, a.type(), as));
  const bool complex = a.type() == DataType::kComplex64 || a.type() == DataType::kComplex128;
  const int parts = complex ? 2 : 1;
  ATTNRUN_ASSIGN_OR_RETURN(const Worst worst, CompareElements(as, bs, resolved, parts));
  result.ok = worst.beyond == 0;
  result.largest = worst.largest;
  result.allowed = worst.allowed;
  result.beyond = worst.beyond;
  if (result.elements == 0) return result;
  const auto element = static_cast<int64_t>(worst.place) / parts;
  result.index = IndexOf(element, a.shape());
  ATTNRUN_ASSIGN_OR_RETURN(result.expected, TextAt(as, element));
  ATTNRUN_ASSIGN_OR_RETURN(result.found, TextAt(bs, element));
  return result;
}

std::string Describe(const Difference& difference) {
  if (!difference.mismatch.empty()) return difference.mismatch;
  std::string text = absl::StrFormat("largest difference %.3g, allowed %.3g", difference.largest,
                                     difference.allowed);
  if (difference.ok) return text;
  absl::StrAppend(&text, "; ", difference.beyond, " of ", difference.elements,
                  " elements exceed it, the worst at ", ToString(difference.index), ": expected ",
                  difference.expected, ", but found ", difference.found);
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
