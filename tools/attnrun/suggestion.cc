// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/suggestion.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace attnrun::cli {
namespace {

// The number of letters to insert, delete, substitute or exchange with their neighbor (optimal
// string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last.back();
}

}  // namespace

std::string Suggestion(absl::string_view word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t least = std::min<size_t>(3, (word.size() + 1) / 2);
  for (const std::string& name : known) {
    const size_t distance = EditDistance(word, name);
    if (distance >= least) continue;
    least = distance;
    nearest = &name;
  }
  return nearest == nullptr ? "" : absl::StrCat("; did you mean '", *nearest, "'?");
}

}  // namespace attnrun::cli
