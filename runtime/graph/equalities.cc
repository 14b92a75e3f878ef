// SPDX-License-Identifier: Apache-2.0
#include "graph/equalities.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"

namespace attnrun {
namespace {

// Terms that a rule matches are replaced; the others stay.
SymInt Replaced(const SymInt& number, const SymInt& from, const SymInt& to) {
  SymInt result;
  for (const SymInt& term : number.Terms()) {
    const auto times = SymInt::DivideExactly(term, from);
    result = result + (times.has_value() ? *times * to : term);
  }
  return result;
}

// The term that a rule replaces: the longest, since replacements must end. But where that is a
// multiple, as in 16 * div(h+6,8) * div(w+6,8) = div(h,2) * div(w,2), a computed term that is none:
// a rule finds multiples alone, so it would miss the same product times less than 16. Not so in 4 *
// div(x,4) = x, where the longest is made of the other.
SymInt ReplacedTerm(const SymInt& difference) {
  SymInt longest = difference.LongestTerm();
  if (longest.coefficient() == 1) return longest;
  for (const SymInt& term : difference.Terms()) {
    const int64_t sign = term.coefficient();
    if (sign != 1 && sign != -1) continue;
    const std::string text = (SymInt(sign) * term).ToString();
    if (absl::StrContains(text, '(') && !absl::StrContains(longest.ToString(), text)) return term;
  }
  return longest;
}

// True if `of` is the number, or broadcasts it with others.
bool Broadcasts(const SymInt& of, const SymInt& number) {
  const auto operands = of.OperandsOf("broadcast");
  return of == number || (operands.has_value() && (Broadcasts(operands->first, number) ||
                                                   Broadcasts(operands->second, number)));
}

// For broadcast(broadcast(b, x), y) = b, the operand that broadcasts b, which is b as well: it is
// unless b is 1; and if b is 1, then so are all operands.
std::optional<SymInt> BroadcastWithin(const SymInt& whole, const SymInt& b) {
  const auto operands = whole.OperandsOf("broadcast");
  if (!operands.has_value()) return std::nullopt;
  for (const SymInt& part : {operands->first, operands->second}) {
    if (part != b && Broadcasts(part, b)) return part;
  }
  return std::nullopt;
}

}  // namespace

bool Equalities::Add(const SymInt& a, const SymInt& b, const std::string& node) {
  constexpr size_t kMost = 32;
  if (a == b || list_.size() == kMost) return false;
  if (const auto part = BroadcastWithin(a, b)) return Add(*part, b, node);
  if (const auto part = BroadcastWithin(b, a)) return Add(*part, a, node);
  SymInt difference = Reduced(a) - Reduced(b);
  if (difference.constant().has_value() || !difference.IsComputable()) return false;
  const SymInt common = SymInt::CommonFactor(difference, 0);
  // Unlike an extent of an input, a slice is often empty.
  if (absl::StrContains(common.ToString(), "slice(")) return false;
  difference = SymInt::DivideExactly(difference, common).value_or(difference);
  if (difference.LongestTerm().coefficient() < 0) difference = SymInt(0) - difference;
  // A sum of extents is 0 only if all of them are.
  if (difference.IsNeverNegative()) return false;
  const SymInt replaced = ReplacedTerm(difference);
  const SymInt sign(replaced.coefficient() < 0 ? -1 : 1);
  list_.push_back({sign * replaced, sign * (replaced - difference), node});
  return true;
}

SymInt Equalities::Reduced(const SymInt& number) const {
  // Each replacement shortens a term, so the form is reached soon.
  constexpr int kMostRounds = 64;
  SymInt result = number;
  if (list_.empty()) return result;
  for (int round = 0; round < kMostRounds && !result.constant().has_value(); ++round) {
    const SymInt before = result;
    for (const auto& [a, b, node] : list_) result = Replaced(result, a, b);
    if (result == before) return result;
    // A number grew beyond what is tracked.
    if (result.HasUnknown() && !number.HasUnknown()) return number;
  }
  return result;
}

}  // namespace attnrun
