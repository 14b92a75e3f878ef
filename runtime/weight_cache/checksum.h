// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_
#define ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace attnrun::cache {

// A 128-bit XXH3 hash, about as fast to compute as memory is to read. Part of the file formats.
struct Checksum {
  uint64_t low = 0;
  uint64_t high = 0;

  static Checksum Of(absl::string_view bytes);

  friend bool operator==(const Checksum&, const Checksum&) = default;
};

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_
