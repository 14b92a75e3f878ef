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

// Replaces the contents of the file at `path` by `parts`, one after the other, and returns the new
// identity. A reader, even after a crash, finds either the old contents or all of the new: the file
// is written under another name, synced to disk and renamed. Error messages name the path.
absl::StatusOr<FileIdentity> ReplaceFile(const std::string& path,
                                         absl::Span<const absl::string_view> parts);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_REPLACE_FILE_H_
