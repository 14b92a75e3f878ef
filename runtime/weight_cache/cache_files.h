// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_
#define ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attnrun::cache {

// By these the files of a cache are told from others in its directory. What is being written has a
// further suffix.
inline constexpr absl::string_view kCacheFilePrefix = "attnrun-";
inline constexpr absl::string_view kPackedSuffix = ".packed";
inline constexpr absl::string_view kStampSuffix = ".seen";
inline constexpr absl::string_view kUnfinishedSuffix = ".tmp";

// Removes from the directory of a cache what no start will use: files whose writer did not come to
// its end, stamps of models that were deleted, and packed files of contents that no SourceStamp
// names. Nothing that was written within the last hour: its writer may yet be at it. What cannot be
// removed stays.
void SweepCache(const std::string& directory);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_CACHE_FILES_H_
