// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_PREFIX_CACHE_H_
#define ATTNRUN_GENERATION_PREFIX_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "absl/types/span.h"
#include "generation/decoder.h"

namespace attnrun::gen {

// How many of the first `ids` a row has read, as far as a clone of it can go on with them.
int64_t SharedPrefix(const Row& row, absl::Span<const int64_t> ids);

// Rows of requests that are over, for others that begin alike.
class PrefixCache {
 public:
  explicit PrefixCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The row that has read most of the first `ids`; null if none has read any. It stays until the
  // next Insert.
  const Row* Find(absl::Span<const int64_t> ids);

  // Takes a row. Rows that were not found for the longest time make place for it. A row whose ids
  // another one has read as well is not kept twice.
  void Insert(std::unique_ptr<Row> row);

  size_t byte_size() const { return bytes_; }

 private:
  void Erase(std::list<std::unique_ptr<Row>>::iterator row);

  const size_t most_bytes_;
  // The row that was used last comes first.
  std::list<std::unique_ptr<Row>> rows_;
  size_t bytes_ = 0;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_PREFIX_CACHE_H_
