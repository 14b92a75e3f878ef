#ifndef ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_
#define ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace attnrun {

// Two independent sums of the same bytes, in one pass about as fast as memory. Part of what is
// written to files: they must stay as they are.
struct Checksum {
  // 32 bits, of CRC-32C.
  uint64_t crc = 0;
  // Multiplied and rotated.
  uint64_t mix = 0;

  static Checksum Of(absl::string_view bytes);

  friend bool operator==(const Checksum&, const Checksum&) = default;
};

}  // namespace attnrun

#endif  // ATTNRUN_WEIGHT_CACHE_CHECKSUM_H_
