// SPDX-License-Identifier: Apache-2.0
#include "graph/symbolic_definition.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace attnrun {
namespace {

// Marks symbols that may be negative.
constexpr absl::string_view kMaybeNegative = "?";

bool IsIdentifier(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(name[0]) && absl::c_all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.';
  });
}

}  // namespace

SymInt::Factor::Factor(Definition definition)
    : definition_(std::make_shared<const Definition>(std::move(definition))) {}

std::strong_ordering SymInt::Factor::operator<=>(const Factor& other) const {
  if (definition_ == other.definition_) return std::strong_ordering::equal;
  return definition_->text <=> other.definition_->text;
}

// Not inline, so that not every file compiles them again.
SymInt::SymInt() = default;
SymInt::SymInt(const SymInt& other) = default;
SymInt::SymInt(SymInt&& other) noexcept = default;
SymInt& SymInt::operator=(const SymInt& other) = default;
SymInt& SymInt::operator=(SymInt&& other) noexcept = default;
SymInt::~SymInt() = default;

bool operator==(const SymInt& a, const SymInt& b) { return a.terms_ == b.terms_; }

SymInt::SymInt(int64_t value) {
  if (value != 0) terms_[{}] = value;
}

SymInt SymInt::Of(Definition definition) {
  // GCC leaks the factor in a list if there is no memory for the vector made of it.
  Monomial monomial;
  monomial.emplace_back(std::move(definition));
  SymInt result;
  result.terms_[monomial] = 1;
  return result;
}

SymInt SymInt::Symbol(absl::string_view name) {
  Definition symbol;
  symbol.text =
      IsIdentifier(name) ? std::string(name) : absl::StrCat("'", absl::CEscape(name), "'");
  return Of(std::move(symbol));
}

SymInt SymInt::Unknown() {
  static std::atomic<int64_t> next{0};
  Definition symbol;
  symbol.text = absl::StrCat(kMaybeNegative, next++);
  symbol.never_negative = false;
  symbol.unknown = true;
  return Of(std::move(symbol));
}

std::optional<int64_t> SymInt::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() > 1 || !terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

int64_t SymInt::constant_term() const {
  const auto found = terms_.find(Monomial());
  return found == terms_.end() ? 0 : found->second;
}

std::vector<SymInt> SymInt::Terms() const {
  std::vector<SymInt> terms;
  for (const auto& term : terms_) terms.emplace_back().terms_.insert(term);
  return terms;
}

int64_t SymInt::coefficient() const { return terms_.empty() ? 0 : terms_.begin()->second; }

bool SymInt::IsNeverNegative(const Monomial& monomial, int64_t coefficient) {
  return coefficient > 0 &&
         absl::c_all_of(monomial, [](const Factor& factor) { return factor->never_negative; });
}

bool SymInt::IsNeverNegative() const {
  return absl::c_all_of(terms_,
                        [](const auto& term) { return IsNeverNegative(term.first, term.second); });
}

bool SymInt::IsAtLeast(const SymInt& a, const SymInt& b, int64_t times) {
  auto of_a = a.terms_.begin();
  for (const auto& [monomial, coefficient] : b.terms_) {
    for (; of_a != a.terms_.end() && of_a->first < monomial; ++of_a) {
      if (!IsNeverNegative(of_a->first, of_a->second)) return false;
    }
    int64_t rest = 0;
    if (of_a != a.terms_.end() && of_a->first == monomial) rest = of_a++->second;
    int64_t subtracted = 0;
    if (__builtin_mul_overflow(coefficient, times, &subtracted) ||
        __builtin_sub_overflow(rest, subtracted, &rest)) {
      return false;
    }
    if (rest != 0 && !IsNeverNegative(monomial, rest)) return false;
  }
  return std::all_of(of_a, a.terms_.end(),
                     [](const auto& term) { return IsNeverNegative(term.first, term.second); });
}

bool SymInt::HasUnknown() const {
  return absl::c_any_of(terms_, [](const auto& term) {
    return absl::c_any_of(term.first, [](const Factor& factor) {
      return factor->unknown || factor->a.HasUnknown() || factor->b.HasUnknown();
    });
  });
}

bool SymInt::IsOfExtents() const {
  return absl::c_all_of(terms_, [](const auto& term) {
    return absl::c_all_of(term.first, [](const Factor& factor) {
      return !factor->unknown && factor->function.empty();
    });
  });
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  constexpr size_t kMaxTerms = 64;
  // Most operands are numbers.
  if (b.terms_.empty()) return a;
  if (a.terms_.empty()) return b;
  if (a.terms_.size() + b.terms_.size() > kMaxTerms) return SymInt::Unknown();
  SymInt result = a;
  for (const auto& [monomial, coefficient] : b.terms_) {
    int64_t& sum = result.terms_[monomial];
    if (__builtin_add_overflow(sum, coefficient, &sum)) return SymInt::Unknown();
    if (sum == 0) result.terms_.erase(monomial);
  }
  return result;
}

SymInt SymInt::Scaled(int64_t factor) const {
  SymInt result = *this;
  for (auto& [monomial, coefficient] : result.terms_) {
    if (__builtin_mul_overflow(coefficient, factor, &coefficient)) return Unknown();
  }
  return result;
}

SymInt operator-(const SymInt& a, const SymInt& b) { return a + b.Scaled(-1); }

SymInt operator*(const SymInt& a, const SymInt& b) {
  // Real models multiply a handful of extents; larger products are not worth tracking.
  constexpr size_t kMaxTerms = 32;
  constexpr size_t kMaxDegree = 12;
  if (a.is_constant(0) || b.is_constant(0)) return 0;
  if (const auto factor = b.constant()) return a.Scaled(*factor);
  if (const auto factor = a.constant()) return b.Scaled(*factor);
  if (a.terms_.size() * b.terms_.size() > kMaxTerms) return SymInt::Opaque("mul", a, b);
  SymInt result;
  for (const auto& [monomial_a, coefficient_a] : a.terms_) {
    for (const auto& [monomial_b, coefficient_b] : b.terms_) {
      SymInt::Monomial monomial;
      // A file may square an extent again and again.
      if (monomial_a.size() + monomial_b.size() > kMaxDegree) return SymInt::Unknown();
      std::merge(monomial_a.begin(), monomial_a.end(), monomial_b.begin(), monomial_b.end(),
                 std::back_inserter(monomial));
      SymInt term;
      if (__builtin_mul_overflow(coefficient_a, coefficient_b, &term.terms_[monomial])) {
        return SymInt::Unknown();
      }
      result = result + term;
    }
  }
  return result;
}

SymInt SymInt::Opaque(absl::string_view name, const SymInt& a, const SymInt& b) {
  // No exporter writes longer formulas, and each step could double the length.
  constexpr size_t kMaxLength = 400;
  Definition symbol;
  symbol.never_negative = a.IsNeverNegative() && b.IsNeverNegative();
  symbol.text = absl::StrCat(symbol.never_negative ? "" : kMaybeNegative, name, "(", a.ToString(),
                             ",", b.ToString(), ")");
  if (symbol.text.size() > kMaxLength) return Unknown();
  symbol.function = std::string(name);
  symbol.a = a;
  symbol.b = b;
  return Of(std::move(symbol));
}

std::optional<std::pair<SymInt, SymInt>> SymInt::OperandsOf(absl::string_view name) const {
  if (terms_.size() != 1 || coefficient() != 1 || terms_.begin()->first.size() != 1) {
    return std::nullopt;
  }
  const Definition& symbol = *terms_.begin()->first[0];
  if (symbol.function != name) return std::nullopt;
  return std::make_pair(symbol.a, symbol.b);
}

std::string SymInt::ToString() const {
  if (terms_.empty()) return "0";
  std::vector<std::string> parts;
  for (const auto& [monomial, coefficient] : terms_) {
    const std::string symbols = absl::StrJoin(
        monomial, "*",
        [](std::string* out, const Factor& factor) { absl::StrAppend(out, factor->text); });
    if (monomial.empty()) {
      parts.push_back(absl::StrCat(coefficient));
    } else {
      parts.push_back(coefficient == 1 ? symbols : absl::StrCat(coefficient, "*", symbols));
    }
  }
  return absl::StrJoin(parts, "+");
}

SymInt Product(const std::vector<SymInt>& factors) {
  SymInt product(1);
  for (const SymInt& factor : factors) product = product * factor;
  return product;
}

}  // namespace attnrun
