// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/infer_context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/elements.h"

namespace attnrun::ops {
namespace {

// n if `value` is min(n, limit) for a number n of at least 2; else nullopt.
std::optional<int64_t> UncutExtent(const SymInt& value, const SymInt& limit) {
  const auto operands = value.OperandsOf("min");
  if (!operands.has_value() || operands->second != limit) return std::nullopt;
  const std::optional<int64_t> number = operands->first.constant();
  return number.value_or(0) < 2 ? std::nullopt : number;
}

bool IsCutTo(const SymInt& value, const SymInt& limit) {
  return UncutExtent(value, limit).has_value();
}

// True if `value` is min(whole, n) for a number n of at least 1: an axis up to a bound that may be
// far behind its end.
bool IsStartOf(const SymInt& value, const SymInt& whole) {
  const auto operands = value.OperandsOf("min");
  return operands.has_value() && operands->first == whole &&
         operands->second.constant().value_or(0) >= 1;
}

// True if `value` is max(0, limit + n - n) for a small number n: an axis without its last n
// elements.
bool IsRestOf(const SymInt& value, const SymInt& limit) {
  for (const int64_t n : {1, 2, 3, 4}) {
    if (value == SymInt::Opaque("drop", limit + n, n)) return true;
  }
  return false;
}

// True if tensors with these extents cannot broadcast: the node that has them fails.
bool AreAtOdds(const SymInt& a, const SymInt& b) {
  const auto x = a.constant();
  const auto y = b.constant();
  if (!x.has_value() || !y.has_value()) return false;
  if (*x < 0 || *y < 0) return true;
  return *x != *y && *x != 1 && *y != 1;
}

// True if `value` is the broadcast of `extent` and another: broadcast with `extent` it does not
// change.
bool IsBroadcastOf(const SymInt& value, const SymInt& extent) {
  const auto operands = value.OperandsOf("broadcast");
  return operands.has_value() && (operands->first == extent || operands->second == extent);
}

SymInt BroadcastDim(const SymInt& a, const SymInt& b) {
  if (a == b || b.is_constant(1)) return a;
  if (a.is_constant(1)) return b;
  // A number other than 1 decides: the other side is equal or 1.
  if (a.constant().has_value()) return a;
  if (b.constant().has_value()) return b;
  // An extent cut shorter than the other side would broadcast with it only if it were 1.
  if (IsCutTo(b, a) || IsRestOf(b, a) || IsStartOf(b, a)) return a;
  if (IsCutTo(a, b) || IsRestOf(a, b) || IsStartOf(a, b)) return b;
  if (IsBroadcastOf(a, b)) return a;
  if (IsBroadcastOf(b, a)) return b;
  return SymInt::Opaque("broadcast", a, b);
}

// True if the number is n - min(limit, n): what a tensor lacks of the length it is cut to.
bool IsShortfall(const SymInt& number) {
  if (number.constant().has_value()) return false;
  return absl::c_any_of(number.Terms(), [&](const SymInt& term) {
    return term.coefficient() == -1 && IsCutTo(SymInt(0) - term, number - term);
  });
}

// A number that this is never below: n * (x / n), rounded down, is at least x - (n - 1), and
// subtracts at most x. So 8 * ((s + 7) / 8), the length of s padded to blocks of 8, is at least s.
SymInt WithoutQuotients(const SymInt& number) {
  SymInt least;
  for (const SymInt& term : number.Terms()) {
    const int64_t coefficient = term.coefficient();
    const SymInt symbols = SymInt::DivideExactly(term, coefficient).value_or(term);
    auto quotient = symbols.OperandsOf("floordiv");
    // This is rounded towards 0, which differs for negative numbers.
    if (!quotient.has_value()) quotient = symbols.OperandsOf("div");
    const int64_t by = quotient.has_value() ? quotient->second.constant().value_or(0) : 0;
    if (by <= 0 || coefficient % by != 0 || !quotient->first.IsNeverNegative()) {
      least = least + term;
    } else {
      const SymInt rest(coefficient > 0 ? by - 1 : 0);
      least = least + SymInt(coefficient / by) * (quotient->first - rest);
    }
  }
  return least;
}

// The number in terms of how far symbols lie above their least values, which `extents` tell: for
// p - 1 and q - 1, the number p*q - 1 is p'*q' + p' + q'.
SymInt AboveLeast(SymInt number, absl::Span<const SymInt> extents) {
  for (const SymInt& extent : extents) {
    if (extent.constant_term() >= 0) continue;
    const SymInt least = SymInt(0) - extent.constant_term();
    const SymInt symbol = extent + least;
    if (symbol.Terms().size() != 1 || symbol.coefficient() != 1) continue;
    const SymInt replaced = SymInt::Opaque("above", symbol, least) + least;
    SymInt rest = std::exchange(number, 0);
    for (const SymInt& term : rest.Terms()) {
      SymInt product = term;
      SymInt power(1);
      while (const auto times = SymInt::DivideExactly(product, symbol)) {
        product = *times;
        power = power * replaced;
      }
      number = number + product * power;
    }
  }
  return number;
}

// True if an extent is 1 in no run: it is at least 2, or a multiple of a number above 1.
bool IsNeverOne(const KnownInputs& known, const SymInt& extent) {
  return known.IsNeverNegative(extent - 2) ||
         (extent != 0 && SymInt::CommonFactor(extent, 0).coefficient() > 1);
}

}  // namespace

bool KnownInputs::IsNeverNegative(const SymInt& number) const {
  if (number.constant().has_value()) return number.IsNeverNegative();
  // Subtracts the extent twice, too: a table of distances has 2*seq - 1 rows, which is at least 0
  // if seq - 1 is.
  return number.IsNeverNegative() || IsShortfall(number) ||
         WithoutQuotients(number).IsNeverNegative() ||
         absl::c_any_of(extents_,
                        [&](const SymInt& extent) {
                          return SymInt::IsAtLeast(number, extent) ||
                                 SymInt::IsAtLeast(number, extent, 2);
                        }) ||
         AboveLeast(number, extents_).IsNeverNegative();
}

void InferContext::RequireBroadcast(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const SymInt& x = a[a.size() - i];
    const SymInt& y = b[b.size() - i];
    if (x == y || x.is_constant(1) || y.is_constant(1)) continue;
    if (IsNeverOne(*this, x) && IsNeverOne(*this, y)) {
      RequireEqual(x, y);
    } else {
      broadcast_.emplace_back(x, y);
    }
  }
}

std::optional<std::vector<SymInt>> BroadcastDims(const std::optional<std::vector<SymInt>>& a,
                                                 const std::optional<std::vector<SymInt>>& b) {
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const size_t rank = std::max(a->size(), b->size());
  std::vector<SymInt> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const SymInt one(1);
    const SymInt& dim_a = i < rank - a->size() ? one : (*a)[i - (rank - a->size())];
    const SymInt& dim_b = i < rank - b->size() ? one : (*b)[i - (rank - b->size())];
    if (AreAtOdds(dim_a, dim_b)) return std::nullopt;
    dims[i] = BroadcastDim(dim_a, dim_b);
  }
  return dims;
}

void RequireUncut(InferContext& context, const ValueFacts& a, const ValueFacts& b) {
  if (!a.dims.has_value() || !b.dims.has_value()) return;
  const size_t common = std::min(a.dims->size(), b.dims->size());
  for (size_t i = 1; i <= common; ++i) {
    const SymInt& of_a = (*a.dims)[a.dims->size() - i];
    const SymInt& of_b = (*b.dims)[b.dims->size() - i];
    if (const auto uncut = UncutExtent(of_a, of_b)) context.Require(*uncut - of_b);
    if (const auto uncut = UncutExtent(of_b, of_a)) context.Require(*uncut - of_a);
  }
}

ValueFacts FactsOf(const Tensor& tensor) {
  ValueFacts facts;
  facts.type = tensor.type();
  facts.dims.emplace(tensor.shape().begin(), tensor.shape().end());
  const bool counts = IsInteger(tensor.type()) || tensor.type() == DataType::kBool;
  if (counts && tensor.rank() <= 1 && tensor.num_elements() <= static_cast<int64_t>(kMaxContents)) {
    const auto elements = ToInts(tensor);
    if (elements.ok()) facts.contents.emplace(elements->begin(), elements->end());
  }
  return facts;
}

}  // namespace attnrun::ops
