// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/repetition.h"

#include <unordered_map>

namespace attnrun::cli {
namespace {

// Replaces each kind by a number, since numbers compare faster than names.
std::vector<size_t> Numbered(const std::vector<std::string>& kinds) {
  std::unordered_map<std::string, size_t> numbers;
  std::vector<size_t> result;
  result.reserve(kinds.size());
  for (const std::string& kind : kinds) {
    result.push_back(numbers.try_emplace(kind, numbers.size()).first->second);
  }
  return result;
}

bool AllEqual(const std::vector<size_t>& numbers, size_t begin, size_t length) {
  for (size_t i = 1; i < length; ++i) {
    if (numbers[begin + i] != numbers[begin]) return false;
  }
  return true;
}

// The longest stretch in which each element equals the element one `period` before it.
Repetition WithPeriod(const std::vector<size_t>& numbers, size_t period) {
  Repetition best;
  size_t begin = 0;
  for (size_t i = period; i <= numbers.size(); ++i) {
    if (i < numbers.size() && numbers[i] == numbers[i - period]) continue;
    const size_t repeats = (i - begin) / period;
    if (repeats >= 2 && repeats > best.repeats) best = {begin, period, repeats};
    begin = i - period + 1;
  }
  return best;
}

}  // namespace

Repetition LongestRepetition(const std::vector<std::string>& kinds) {
  const std::vector<size_t> numbers = Numbered(kinds);
  Repetition best;
  for (size_t period = 2; 2 * period <= numbers.size(); ++period) {
    const Repetition found = WithPeriod(numbers, period);
    if (found.repeats * period <= best.repeats * best.period) continue;
    if (!AllEqual(numbers, found.begin, period)) best = found;
  }
  return best;
}

}  // namespace attnrun::cli
