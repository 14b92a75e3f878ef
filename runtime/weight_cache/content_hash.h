// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_
#define ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attnrun::cache {

// What files hold, all of it. Against accidents, not against an adversary.
struct ContentHash {
  uint64_t size = 0;
  uint64_t low = 0;
  uint64_t high = 0;

  // Reads all bytes, on NumThreads() threads; pages of mapped files are given back.
  static ContentHash Of(absl::Span<const absl::string_view> files);

  // As part of a file name.
  std::string ToString() const;

  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_CONTENT_HASH_H_
