// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_DECODER_H_
#define ATTNRUN_GENERATION_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "attnrun/run_options.h"

namespace attnrun::gen {

// The logits of the next token, row by row.
struct Logits {
  int64_t vocabulary = 0;
  std::vector<float> values;

  absl::Span<float> row(size_t i) {
    return absl::MakeSpan(values).subspan(i * vocabulary, vocabulary);
  }
};

// A model that reads rows of token ids, which do not see each other.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // Reads the next ids of each row. The logits of a row without any are 0; one row has some.
  virtual absl::StatusOr<Logits> Read(absl::Span<const TokenIds> ids,
                                      const RunOptions& options) = 0;

  // Goes on with rows.size() rows, of which row i has read what row rows[i] has so far.
  virtual absl::Status Select(absl::Span<const int64_t> rows) = 0;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_DECODER_H_
