// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/source_stamp.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/file_bytes.h"
#include "weight_cache/cache_files.h"
#include "weight_cache/checksum.h"
#include "weight_cache/file_words.h"
#include "weight_cache/replace_file.h"

namespace attnrun::cache {
namespace {

constexpr uint64_t kStampMagic = 0x6e65657361747461;  // "attaseen"

void Append(const FileIdentity& file, FileWords& words) {
  words.insert(words.end(), {file.device, file.inode, file.size, file.modified});
}

FileIdentity ReadIdentity(WordReader& reader) {
  FileIdentity file;
  for (uint64_t* word : {&file.device, &file.inode, &file.size, &file.modified}) {
    *word = reader.Next();
  }
  return file;
}

}  // namespace

std::string SourceStamp::FileName() const {
  const Checksum place = Checksum::Of(absl::StrCat(absl::Hex(files[0].device), path));
  return absl::StrCat(kCacheFilePrefix, absl::Hex(place.high, absl::kZeroPad16),
                      absl::Hex(place.low, absl::kZeroPad16), "-w", panel_width, kStampSuffix);
}

std::string SourceStamp::PackedFileName() const {
  return absl::StrCat(kCacheFilePrefix, content.ToString(), "-w", panel_width, kPackedSuffix);
}

// Format: magic, content hash (3 words), panel width, settled, identity of the packed file, path,
// number of files, their identities, checksum of all that.
std::optional<SourceStamp> ReadSourceStamp(const std::string& path) {
  const auto file = FileBytes::Open(path);
  if (!file.ok()) return std::nullopt;
  const absl::string_view bytes = (*file)->bytes();
  const size_t end = std::max(bytes.size(), sizeof(uint64_t)) - sizeof(uint64_t);
  WordReader checksum(bytes.substr(std::min(end, bytes.size())));
  WordReader reader(bytes.substr(0, end));
  const bool whole = checksum.Next() == Checksum::Of(bytes.substr(0, end)).low && checksum.ok();
  if (!whole || reader.Next() != kStampMagic) return std::nullopt;
  SourceStamp stamp;
  for (uint64_t* word : {&stamp.content.size, &stamp.content.low, &stamp.content.high}) {
    *word = reader.Next();
  }
  stamp.panel_width = static_cast<int64_t>(reader.Next());
  stamp.settled = reader.Next() != 0;
  stamp.packed = ReadIdentity(reader);
  stamp.path = reader.NextText();
  const uint64_t count = reader.Next();
  while (reader.ok() && stamp.files.size() < count) {
    stamp.files.push_back(ReadIdentity(reader));
  }
  if (!reader.ok() || stamp.files.empty()) return std::nullopt;
  return stamp;
}

absl::Status WriteSourceStamp(const std::string& path, const SourceStamp& stamp) {
  FileWords words = {kStampMagic,
                     stamp.content.size,
                     stamp.content.low,
                     stamp.content.high,
                     static_cast<uint64_t>(stamp.panel_width),
                     uint64_t{stamp.settled}};
  Append(stamp.packed, words);
  AppendText(stamp.path, words);
  words.push_back(stamp.files.size());
  for (const FileIdentity& file : stamp.files) Append(file, words);
  words.push_back(Checksum::Of(BytesOf(words)).low);
  return ReplaceFile(path, {BytesOf(words)}).status();
}

}  // namespace attnrun::cache
