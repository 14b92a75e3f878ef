// SPDX-License-Identifier: Apache-2.0
#include "generation/guesses.h"

#include <algorithm>

#include "core/status.h"
#include "generation/scores.h"

namespace attnrun::gen {
namespace {

// The ids behind the first `count` that the draft row shares with the sequence; at least one.
absl::StatusOr<absl::Span<const int64_t>> Unread(const DraftedRow& row) {
  const int64_t shared = CommonPrefix(row.draft->ids(), row.ids.first(row.ids.size() - 1));
  if (shared < static_cast<int64_t>(row.draft->ids().size())) {
    ATTNRUN_RETURN_IF_ERROR(row.draft->Rewind(shared));
  }
  return row.ids.subspan(shared);
}

}  // namespace

TokenIds LookUp(absl::Span<const int64_t> ids, size_t ngram, size_t most) {
  for (size_t n = std::min(ngram, ids.size() - 1); n > 0; --n) {
    const absl::Span<const int64_t> last = ids.last(n);
    const absl::Span<const int64_t> earlier = ids.first(ids.size() - 1);
    const auto found = std::find_end(earlier.begin(), earlier.end(), last.begin(), last.end());
    if (found == earlier.end()) continue;
    // Behind the end the guesses go on, as text does that repeats itself.
    const size_t begin = static_cast<size_t>(found - earlier.begin()) + n;
    TokenIds guesses;
    for (size_t i = begin; guesses.size() < most; ++i) {
      guesses.push_back(i < ids.size() ? ids[i] : guesses[i - ids.size()]);
    }
    return guesses;
  }
  return {};
}

absl::Status Draft(const Decoder& decoder, absl::Span<const DraftedRow> rows, int64_t vocabulary,
                   const RunOptions& options) {
  std::vector<DraftedRow> left(rows.begin(), rows.end());
  for (size_t step = 0; !left.empty(); ++step) {
    std::vector<Reading> readings;
    for (const DraftedRow& row : left) {
      Reading& reading = readings.emplace_back(Reading{row.draft, {}});
      if (step > 0) {
        reading.ids = absl::MakeConstSpan(*row.guesses).last(1);
      } else {
        ATTNRUN_ASSIGN_OR_RETURN(reading.ids, Unread(row));
      }
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Logits> logits, decoder.Read(readings, options));
    std::vector<DraftedRow> next;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto token = static_cast<int64_t>(ArgMax(logits[i].at(0)));
      if (vocabulary >= 0 && token >= vocabulary) continue;
      left[i].guesses->push_back(token);
      if (left[i].guesses->size() < left[i].most) next.push_back(left[i]);
    }
    left = std::move(next);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::gen
