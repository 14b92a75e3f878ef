// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_GUESSES_H_
#define ATTNRUN_GENERATION_GUESSES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "generation/decoder.h"

// Guesses of the tokens that come next. A decoder reads them in the step that reads the last token,
// and a search keeps those that it would have chosen itself (Leviathan, Kalman and Matias 2023), so
// that guesses change the number of steps and no token.
namespace attnrun::gen {

// The `most` ids that follow if the sequence goes on as it once did: behind the latest earlier
// place with the same last n ids, for the largest n of at most `ngram` that has such a place; none
// if there is no such place. (Saxena 2023, "prompt lookup decoding".)
TokenIds LookUp(absl::Span<const int64_t> ids, size_t ngram, size_t most);

// A sequence whose next tokens a draft model guesses.
struct DraftedRow {
  absl::Span<const int64_t> ids;
  size_t most = 0;
  // The row of the draft model. It may have read ids that have turned out wrong. Not null.
  Row* draft = nullptr;
  TokenIds* guesses = nullptr;
};

// Sets the guesses of all rows: the most probable tokens of the draft model, of ids below
// `vocabulary` if that is not negative.
absl::Status Draft(const Decoder& decoder, absl::Span<const DraftedRow> rows, int64_t vocabulary,
                   const RunOptions& options);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_GUESSES_H_
