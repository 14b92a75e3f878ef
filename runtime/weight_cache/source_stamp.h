// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_WEIGHT_CACHE_SOURCE_STAMP_H_
#define ATTNRUN_WEIGHT_CACHE_SOURCE_STAMP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/file_identity.h"
#include "weight_cache/content_hash.h"

namespace attnrun::cache {

// The state of a model's files, and of the packed file made from them, when they were last read
// completely. While their state stays the same, they need not be read again.
struct SourceStamp {
  // Absolute path of the model's own file.
  std::string path;
  // The state of each file when it was read, the model's own first; at least one.
  std::vector<FileIdentity> files;
  // True if the modification times are old enough that any later write must change them.
  bool settled = false;
  ContentHash content;
  int64_t panel_width = 0;
  FileIdentity packed;

  // Names in the cache directory: of the stamp for this path and device, and of the packed file for
  // this content.
  std::string FileName() const;
  std::string PackedFileName() const;

  friend bool operator==(const SourceStamp&, const SourceStamp&) = default;
};

// nullopt if the file is missing or damaged.
std::optional<SourceStamp> ReadSourceStamp(const std::string& path);

// Errors as in ReplaceFile.
absl::Status WriteSourceStamp(const std::string& path, const SourceStamp& stamp);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_SOURCE_STAMP_H_
