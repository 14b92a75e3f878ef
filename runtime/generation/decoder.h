// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_DECODER_H_
#define ATTNRUN_GENERATION_DECODER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "attnrun/run_options.h"

namespace attnrun::gen {

// Logits [positions, vocabulary]: for each position, of the token behind it.
struct Logits {
  int64_t vocabulary = 0;
  std::vector<float> values;

  absl::Span<const float> at(size_t position) const {
    return absl::MakeConstSpan(values).subspan(position * vocabulary, vocabulary);
  }
};

// The number of ids with which both sequences begin.
inline int64_t CommonPrefix(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

// A sequence of ids that a decoder reads, and what the model keeps of them.
class Row {
 public:
  virtual ~Row() = default;

  // All that it has read.
  virtual const TokenIds& ids() const = 0;

  // If false, each step of this row reads all ids anew.
  virtual bool has_cache() const = 0;

  // If false, only the whole row can be cloned.
  virtual bool can_rewind() const = 0;

  // True if it can rewind and has logits of several positions.
  virtual bool reads_guesses() const = 0;

  // True if what it computes of an id depends on the ids that it reads together with it. Then a
  // prompt is read in one step, and no other prompt goes on from it.
  virtual bool reads_prompt_whole() const = 0;

  // Forgets the ids from `length` on.
  virtual absl::Status Rewind(int64_t length) = 0;

  // A row that has read the first `length` ids, with memory for `capacity`.
  virtual absl::StatusOr<std::unique_ptr<Row>> Clone(int64_t length, int64_t capacity) const = 0;

  // The bytes that it takes, 0 without a cache.
  virtual size_t byte_size() const = 0;
};

// One step of a row.
struct Reading {
  Row* row = nullptr;
  absl::Span<const int64_t> ids;
  // The last positions whose logits are wanted.
  int64_t positions = 1;
};

// A model that reads rows, which do not see each other.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // The logits of each reading's last positions, as many as it wants. After an error no row has
  // changed.
  virtual absl::StatusOr<std::vector<Logits>> Read(absl::Span<const Reading> readings,
                                                   const RunOptions& options) const = 0;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_DECODER_H_
