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

// Number of floats from the first element to the last.
uint64_t SpanOf(const ops::MatrixView& view) {
  return static_cast<uint64_t>((view.rows - 1) * view.row_stride +
                               (view.columns - 1) * view.column_stride + 1);
}

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
  matrices_ = std::move(packed->matrices);
  stamp_.packed = packed->identity;
  if (last != stamp_) Remember();
}

std::optional<WeightKey> WeightCache::KeyOf(ops::WeightFormat format,
                                            const ops::SideBySide& weight) const {
  if (weight.rows() == 0 || weight.columns() == 0) return std::nullopt;
  WeightKey key = {static_cast<uint64_t>(format)};
  for (const ops::MatrixView& part : weight.parts()) {
    if (part.columns == 0) continue;
    const auto* begin = reinterpret_cast<const char*>(part.data);
    const auto* end = begin + SpanOf(part) * sizeof(float);
    const auto holds = [&](const std::shared_ptr<const FileBytes>& file) {
      const absl::string_view bytes = file->bytes();
      return begin >= bytes.data() && end <= bytes.data() + bytes.size();
    };
    const auto file = absl::c_find_if(files_, holds);
    if (file == files_.end()) return std::nullopt;
    for (const int64_t word : {file - files_.begin(), begin - (*file)->bytes().data(), part.rows,
                               part.columns, part.row_stride, part.column_stride}) {
      key.push_back(static_cast<uint64_t>(word));
    }
  }
  return key;
}

std::shared_ptr<const ops::PackedMatrix> WeightCache::Find(ops::WeightFormat format,
                                                           const ops::SideBySide& weight) {
  const auto key = KeyOf(format, weight);
  if (!key.has_value()) return nullptr;
  if (!opened_) Open();
  const auto found = matrices_.find(*key);
  const bool fits = found != matrices_.end() && found->second->format() == format &&
                    found->second->rows() == weight.rows() &&
                    found->second->columns() == weight.columns();
  return fits ? found->second : nullptr;
}

void WeightCache::Add(const ops::SideBySide& weight,
                      std::shared_ptr<const ops::PackedMatrix> matrix) {
  auto key = KeyOf(matrix->format(), weight);
  if (!key.has_value()) return;
  if (!opened_) Open();
  matrices_.insert_or_assign(*std::move(key), std::move(matrix));
  added_ = true;
}

absl::Status WeightCache::Save() {
  if (!added_) return absl::OkStatus();
  if (const int error = MakeFolders(directory_); error != 0) {
    return absl::ErrnoToStatus(error,
                               absl::StrCat("directory '", directory_, "' cannot be created"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(stamp_.packed, WritePackedFile(PackedPath(), stamp_.content, matrices_));
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
