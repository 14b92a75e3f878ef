// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_REPLACE_FILE_H_
#define ATTNRUN_WEIGHT_CACHE_REPLACE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/file_identity.h"

namespace attnrun::cache {

// Makes the file at `path` these bytes, one part after the other. Whoever opens it meanwhile, or
// after a crash, finds what was there before or all of it: it is written under another name, to the
// disk, and renamed. The status names the path. Returns what identifies the new file.
absl::StatusOr<FileIdentity> ReplaceFile(const std::string& path,
                                         absl::Span<const absl::string_view> parts);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_REPLACE_FILE_H_
