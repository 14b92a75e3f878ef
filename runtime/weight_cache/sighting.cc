#include "weight_cache/sighting.h"

#include <algorithm>

#include "loader/mapped_file.h"
#include "weight_cache/checksum.h"
#include "weight_cache/replace_file.h"
#include "weight_cache/words.h"

namespace attnrun {
namespace {

constexpr uint64_t kMagic = 0x6e65657361747461;  // "attaseen"

void Append(const FileIdentity& file, Words& words) {
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

// Magic, content (3), packed file, number of files, files, checksum of all that.
std::optional<Sighting> ReadSighting(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return std::nullopt;
  const absl::string_view bytes = (*file)->bytes();
  const size_t end = std::max(bytes.size(), sizeof(uint64_t)) - sizeof(uint64_t);
  WordReader checksum(bytes.substr(std::min(end, bytes.size())));
  WordReader reader(bytes.substr(0, end));
  const bool whole = checksum.Next() == Checksum::Of(bytes.substr(0, end)).low && checksum.ok();
  if (!whole || reader.Next() != kMagic) return std::nullopt;
  Sighting sighting;
  for (uint64_t* word : {&sighting.content.size, &sighting.content.low, &sighting.content.high}) {
    *word = reader.Next();
  }
  sighting.packed = ReadIdentity(reader);
  const uint64_t count = reader.Next();
  while (reader.ok() && sighting.files.size() < count) {
    sighting.files.push_back(ReadIdentity(reader));
  }
  return reader.ok() ? std::optional(std::move(sighting)) : std::nullopt;
}

absl::Status WriteSighting(const std::string& path, const Sighting& sighting) {
  Words words = {kMagic, sighting.content.size, sighting.content.low, sighting.content.high};
  Append(sighting.packed, words);
  words.push_back(sighting.files.size());
  for (const FileIdentity& file : sighting.files) Append(file, words);
  words.push_back(Checksum::Of(BytesOf(words)).low);
  return ReplaceFile(path, {BytesOf(words)}).status();
}

}  // namespace attnrun
