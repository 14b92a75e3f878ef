// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/checksum.h"

// Compiled into this file, so that it uses this build's instruction set.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace attnrun::cache {

Checksum Checksum::Of(absl::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace attnrun::cache
