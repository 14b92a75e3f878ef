// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/cache_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/file_identity.h"
#include "core/hash_map.h"
#include "core/path.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::cache {
namespace {

std::optional<FileIdentity> Identify(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity::Of(status);
}

struct CacheFile {
  std::string name;
  // True if written more than an hour ago, so that its writer has finished or failed.
  bool old;
};

// The files of the cache in a directory; none if they cannot all be listed.
std::vector<CacheFile> FilesIn(const std::string& directory) {
  const absl::Time latest = absl::Now() - absl::Hours(1);
  std::vector<CacheFile> files;
  for (std::string& name : NamesIn(directory)) {
    if (!absl::StartsWith(name, kCacheFilePrefix)) continue;
    const auto file = Identify(absl::StrCat(directory, "/", name));
    if (!file.has_value()) continue;
    const absl::Time written = absl::FromUnixNanos(static_cast<int64_t>(file->modified));
    files.push_back({std::move(name), written < latest});
  }
  return files;
}

// True if the model is deleted and not merely unmounted: its folder still exists on the same
// device.
bool IsDeleted(const SourceStamp& stamp) {
  if (Identify(stamp.path).has_value() || errno != ENOENT) return false;
  const auto folder = Identify(std::string(FolderOf(stamp.path)));
  return folder.has_value() && folder->device == stamp.files[0].device;
}

}  // namespace

void SweepCache(const std::string& directory) {
  const auto path = [&](absl::string_view name) { return absl::StrCat(directory, "/", name); };
  const std::vector<CacheFile> files = FilesIn(directory);
  HashSet<std::string> kept;
  for (const auto& [name, old] : files) {
    if (old && absl::EndsWith(name, kUnfinishedSuffix)) unlink(path(name).c_str());
    if (!absl::EndsWith(name, kStampSuffix)) continue;
    const std::optional<SourceStamp> stamp = ReadSourceStamp(path(name));
    if (!stamp.has_value()) continue;
    if (old && IsDeleted(*stamp)) {
      unlink(path(name).c_str());
    } else {
      kept.insert(stamp->PackedFileName());
    }
  }
  for (const auto& [name, old] : files) {
    const bool packed = absl::EndsWith(name, kPackedSuffix);
    if (old && packed && !kept.contains(name)) unlink(path(name).c_str());
  }
}

}  // namespace attnrun::cache
