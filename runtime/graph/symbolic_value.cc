// SPDX-License-Identifier: Apache-2.0
// Symbolic integers at the extents of a run.
#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "graph/symbolic_definition.h"

namespace attnrun {
namespace {

using Number = std::optional<int64_t>;

bool IsRoundedQuotient(absl::string_view function) {
  return function == "div" || function == "floordiv";
}

// Functions of two numbers whose value is known. Slice has more, see SliceOperands.
bool HasValue(absl::string_view function) {
  return IsRoundedQuotient(function) || function == "min" || function == "max" ||
         function == "broadcast" || function == "drop";
}

// The value of a function that HasValue.
Number Apply(absl::string_view function, int64_t a, int64_t b) {
  if (function == "min") return std::min(a, b);
  if (function == "max") return std::max(a, b);
  if (function == "drop") {
    int64_t rest = 0;
    return __builtin_sub_overflow(a, b, &rest) ? std::nullopt : Number(std::max<int64_t>(rest, 0));
  }
  if (function == "broadcast") {
    if (a == 1 || a == b) return b;
    return b == 1 ? Number(a) : std::nullopt;
  }
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  const bool lower = function == "floordiv" && a % b != 0 && (a < 0) != (b < 0);
  return a / b - (lower ? 1 : 0);
}

// The operands of Slice's extent, which its Infer writes as slice(extent, step(range(start, end),
// step)).
struct SliceOperands {
  SymInt extent;
  SymInt start;
  SymInt end;
  SymInt step;
};

std::optional<SliceOperands> SliceOperandsOf(const SymInt& extent, const SymInt& bounds) {
  const auto steps = bounds.OperandsOf("step");
  const auto range = steps.has_value() ? steps->first.OperandsOf("range") : std::nullopt;
  if (!range.has_value()) return std::nullopt;
  return SliceOperands{extent, range->first, range->second, steps->second};
}

// The number of elements that Slice takes.
Number SlicedExtent(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (step == 0 || extent < 0) return std::nullopt;
  if (extent == 0) return 0;
  const auto place = [extent](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + extent : bound, low, high);
  };
  int64_t distance = 0;
  if (step > 0) {
    distance = place(end, 0, extent) - place(start, 0, extent);
  } else {
    distance = place(start, 0, extent - 1) - place(end, -1, extent - 1);
  }
  if (distance <= 0) return 0;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1);
}

}  // namespace

bool SymInt::IsComputable() const {
  return absl::c_all_of(terms_, [](const auto& term) {
    return absl::c_all_of(term.first, [](const Factor& factor) {
      if (factor->function.empty()) return !factor->unknown;
      if (factor->function == "slice") {
        const auto slice = SliceOperandsOf(factor->a, factor->b);
        return slice.has_value() && slice->extent.IsComputable() && slice->start.IsComputable() &&
               slice->end.IsComputable() && slice->step.IsComputable();
      }
      return HasValue(factor->function) && factor->a.IsComputable() && factor->b.IsComputable();
    });
  });
}

std::optional<int64_t> SymInt::ValueAt(Extents extent) const {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    int64_t product = coefficient;
    for (const Factor& factor : monomial) {
      const Number value = ValueOf(*factor, extent);
      if (!value.has_value() || __builtin_mul_overflow(product, *value, &product)) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> SymInt::ValueOf(const Definition& symbol, Extents extent) {
  if (symbol.function.empty()) return symbol.unknown ? std::nullopt : extent(symbol.text);
  if (symbol.function == "slice") {
    const auto slice = SliceOperandsOf(symbol.a, symbol.b);
    if (!slice.has_value()) return std::nullopt;
    const Number size = slice->extent.ValueAt(extent);
    const Number start = slice->start.ValueAt(extent);
    const Number end = slice->end.ValueAt(extent);
    const Number step = slice->step.ValueAt(extent);
    if (!size.has_value() || !start.has_value() || !end.has_value() || !step.has_value()) {
      return std::nullopt;
    }
    return SlicedExtent(*size, *start, *end, *step);
  }
  const Number a = symbol.a.ValueAt(extent);
  const Number b = symbol.b.ValueAt(extent);
  if (!HasValue(symbol.function) || !a.has_value() || !b.has_value()) return std::nullopt;
  return Apply(symbol.function, *a, *b);
}

SymInt SymInt::LongestTerm() const {
  const auto length = [](const Monomial& monomial) {
    size_t sum = 0;
    for (const Factor& factor : monomial) {
      sum += factor->function.empty() ? 1 : 1 + factor->text.size();
    }
    return std::pair(sum, monomial.size());
  };
  SymInt result;
  result.terms_.insert(*absl::c_max_element(terms_, [&](const auto& x, const auto& y) {
    const auto length_x = length(x.first);
    const auto length_y = length(y.first);
    return length_x != length_y ? length_x < length_y : x.first < y.first;
  }));
  return result;
}

}  // namespace attnrun
