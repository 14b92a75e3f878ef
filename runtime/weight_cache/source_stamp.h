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

// What was found when the files of a model, and the packed file made from them, were last read
// whole: as long as they are the same files in the same state, that need not be done again.
struct SourceStamp {
  // Absolute, of the model's own file.
  std::string path;
  // As they were when they were read, the model's own first; at least one.
  std::vector<FileIdentity> files;
  // Whether nobody can have written to them since without their times telling.
  bool settled = false;
  ContentHash content;
  int64_t panel_width = 0;
  FileIdentity packed;

  // What the stamp of this path and device, and the packed file of these contents, are called in
  // the directory of a cache.
  std::string FileName() const;
  std::string PackedFileName() const;

  friend bool operator==(const SourceStamp&, const SourceStamp&) = default;
};

// nullopt if there is none at that path, or it is not whole.
std::optional<SourceStamp> ReadSourceStamp(const std::string& path);

// Errors as ReplaceFile.
absl::Status WriteSourceStamp(const std::string& path, const SourceStamp& stamp);

}  // namespace attnrun::cache

#endif  // ATTNRUN_WEIGHT_CACHE_SOURCE_STAMP_H_
