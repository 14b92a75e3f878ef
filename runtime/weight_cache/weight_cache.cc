// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/weight_cache.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/path.h"
#include "core/status.h"
#include "ops/gemm/micro_kernel.h"
#include "weight_cache/cache_files.h"
#include "weight_cache/checksum.h"

namespace attnrun::cache {
namespace {

ContentHash HashOf(const WeightCache::Files& files) {
  std::vector<absl::string_view> bytes;
  bytes.reserve(files.size());
  for (const auto& file : files) bytes.push_back(file->bytes());
  return ContentHash::Of(bytes);
}

// True if any later write must change the modification times. A newer file may be written again
// within one tick of the clock or of the file system's timestamps.
bool AreSettled(const std::vector<FileIdentity>& files) {
  const absl::Time latest = absl::Now() - absl::Seconds(2);
  return absl::c_all_of(files, [&](const FileIdentity& file) {
    return absl::FromUnixNanos(static_cast<int64_t>(file.modified)) < latest;
  });
}

// The file words of a source that lies in none of the model's files begin with this.
constexpr uint64_t kNoFile = ~uint64_t{0};

}  // namespace

WeightCache::WeightCache(std::string directory, Files files, bool verify)
    : directory_(std::move(directory)), files_(std::move(files)), verify_(verify) {}

void WeightCache::Open() {
  opened_ = true;
  stamp_.path = Normal(AbsolutePath(files_[0]->path()));
  for (const auto& file : files_) stamp_.files.push_back(file->identity());
  stamp_.settled = AreSettled(stamp_.files);
  stamp_.panel_width = ops::PanelWidth();
  const std::optional<SourceStamp> last = ReadSourceStamp(StampPath());
  const bool known = !verify_ && last.has_value() && last->settled && last->files == stamp_.files;
  stamp_.content = known ? last->content : HashOf(files_);
  auto packed = OpenPackedFile(PackedPath(), stamp_.content,
                               known ? std::optional(last->packed) : std::nullopt);
  if (!packed.has_value()) return;
  weights_ = std::move(packed->weights);
  stamp_.packed = packed->identity;
  if (last != stamp_) Remember();
}

void WeightCache::AppendSource(absl::string_view source, ops::PackedKey& key) const {
  key.push_back(source.size());
  const auto holds = [&](const std::shared_ptr<const FileBytes>& file) {
    const absl::string_view bytes = file->bytes();
    return source.data() >= bytes.data() &&
           source.data() + source.size() <= bytes.data() + bytes.size();
  };
  const auto file = absl::c_find_if(files_, holds);
  if (file != files_.end()) {
    key.push_back(static_cast<uint64_t>(file - files_.begin()));
    key.push_back(static_cast<uint64_t>(source.data() - (*file)->bytes().data()));
    return;
  }
  const Checksum contents = Checksum::Of(source);
  key.insert(key.end(), {kNoFile, contents.low, contents.high});
}

ops::PackedKey WeightCache::KeyOf(const ops::PackedRecipe& recipe) const {
  ops::PackedKey key = {recipe.numbers.size()};
  for (const int64_t number : recipe.numbers) key.push_back(static_cast<uint64_t>(number));
  for (const absl::string_view source : recipe.sources) AppendSource(source, key);
  return key;
}

std::optional<ops::PackedBytes> WeightCache::Find(const ops::PackedKey& key) {
  if (!opened_) Open();
  const auto found = weights_.find(key);
  return found == weights_.end() ? std::nullopt : std::optional(found->second);
}

void WeightCache::Add(const ops::PackedKey& key, ops::PackedBytes packed) {
  if (!opened_) Open();
  weights_.insert_or_assign(key, std::move(packed));
  added_ = true;
}

absl::Status WeightCache::Save() {
  if (!added_) return absl::OkStatus();
  if (const int error = MakeFolders(directory_); error != 0) {
    return absl::ErrnoToStatus(error,
                               absl::StrCat("directory '", directory_, "' cannot be created"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(stamp_.packed, WritePackedFile(PackedPath(), stamp_.content, weights_));
  Remember();
  SweepCache(directory_);
  added_ = false;
  return absl::OkStatus();
}

std::string WeightCache::PackedPath() const {
  return absl::StrCat(directory_, "/", stamp_.PackedFileName());
}

std::string WeightCache::StampPath() const {
  return absl::StrCat(directory_, "/", stamp_.FileName());
}

void WeightCache::Remember() { WriteSourceStamp(StampPath(), stamp_).IgnoreError(); }

}  // namespace attnrun::cache
