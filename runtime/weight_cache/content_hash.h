// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_
#define ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attnrun::cache {

// A hash of the complete contents of some files. Guards against accidents, not against an
// adversary.
struct ContentHash {
  uint64_t size = 0;
  uint64_t low = 0;
  uint64_t high = 0;

  // Reads all bytes, on NumThreads() threads, and releases the pages of mapped files.
  static ContentHash Of(absl::Span<const absl::string_view> files);

  // A text for use in file names.
  std::string ToString() const;

  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_
