// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_
#define ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attnrun::cache {

// The prefix and the suffixes that distinguish the files of a cache from others in its directory. A
// file that is being written has kUnfinishedSuffix in addition.
inline constexpr absl::string_view kCacheFilePrefix = "attnrun-";
inline constexpr absl::string_view kPackedSuffix = ".packed";
inline constexpr absl::string_view kStampSuffix = ".seen";
inline constexpr absl::string_view kUnfinishedSuffix = ".tmp";

// Removes the files of a cache that no later start will use: unfinished files, stamps of deleted
// models, and packed files that no SourceStamp names. Keeps everything written within the last
// hour, since its writer may still be at work. Files that cannot be removed stay.
void SweepCache(const std::string& directory);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_
