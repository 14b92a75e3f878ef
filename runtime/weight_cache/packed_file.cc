// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/packed_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/div_ceil.h"
#include "core/file_bytes.h"
#include "ops/gemm/micro_kernel.h"
#include "weight_cache/checksum.h"
#include "weight_cache/replace_file.h"

namespace attnrun::cache {
namespace {

constexpr uint64_t kPackMagic = 0x6b63617061747461;  // "attapack"
// To be increased when the layout of this file or of panels changes.
constexpr uint64_t kFormat = 3;
constexpr size_t kHeaderWords = 7;
// Words of an index entry in addition to its key and its parts, and words of a part.
constexpr size_t kEntryWords = 3;
constexpr size_t kPartWords = 3;
constexpr uint64_t kPartAlignment = 64;

uint64_t Aligned(uint64_t offset) { return DivCeil(offset, kPartAlignment) * kPartAlignment; }

absl::string_view BytesOfPart(const Tensor& part) {
  return {static_cast<const char*>(part.raw()), part.byte_size()};
}

// Where the parts of all weights go.
class Parts {
 public:
  // `begin`: of the first part.
  explicit Parts(uint64_t begin) : begin_(begin) {}

  // Appends offset, size and checksum of a part, which is laid down unless it was before.
  void Append(absl::string_view part, FileWords& words) {
    const auto [place, is_new] = places_.try_emplace({part.data(), part.size()});
    if (is_new) {
      place->second = {begin_, part.size(), Checksum::Of(part).low};
      static constexpr char kZeros[kPartAlignment] = {};
      bytes_.push_back(part);
      bytes_.emplace_back(kZeros, Aligned(part.size()) - part.size());
      begin_ = Aligned(begin_ + part.size());
    }
    words.insert(words.end(), place->second.begin(), place->second.end());
  }
  // The parts one after the other, each followed by its padding.
  const std::vector<absl::string_view>& bytes() const { return bytes_; }

 private:
  uint64_t begin_;
  std::map<std::pair<const char*, size_t>, std::array<uint64_t, kPartWords>> places_;
  std::vector<absl::string_view> bytes_;
};

uint64_t WordsOfIndex(const PackedWeights& weights) {
  uint64_t words = 0;
  for (const auto& [key, packed] : weights) {
    words += kEntryWords + key.size() + packed.parts.size() * kPartWords;
  }
  return words;
}

// A view of `size` bytes of the file; undefined if they are not aligned or end beyond it.
Tensor ViewPart(const std::shared_ptr<const FileBytes>& file, uint64_t begin, uint64_t size) {
  const absl::string_view bytes = file->bytes();
  if (begin % kPartAlignment != 0 || begin > bytes.size() || size > bytes.size() - begin) return {};
  auto view = Tensor::Borrow(DataType::kUint8, {static_cast<int64_t>(size)}, bytes.data() + begin,
                             size, file);
  return view.ok() ? *std::move(view) : Tensor();
}

// With `verify`, reads all parts and compares their checksums.
std::optional<ops::PackedBytes> ReadWeight(const std::shared_ptr<const FileBytes>& file,
                                           WordReader& reader, bool verify) {
  ops::PackedBytes packed;
  packed.facts = reader.Next();
  const uint64_t parts = reader.Next();
  for (uint64_t i = 0; i < parts; ++i) {
    const uint64_t begin = reader.Next();
    const uint64_t size = reader.Next();
    const uint64_t checksum = reader.Next();
    Tensor part = ViewPart(file, begin, size);
    if (!part.defined() || !reader.ok()) return std::nullopt;
    if (verify && Checksum::Of(BytesOfPart(part)).low != checksum) return std::nullopt;
    packed.parts.push_back(std::move(part));
  }
  return packed;
}

std::optional<PackedWeights> ReadIndex(const std::shared_ptr<const FileBytes>& file, uint64_t words,
                                       bool verify) {
  const absl::string_view bytes = file->bytes();
  WordReader reader(bytes.substr(kHeaderWords * sizeof(uint64_t), words * sizeof(uint64_t)));
  PackedWeights weights;
  while (!reader.rest().empty()) {
    ops::PackedKey key(std::min(reader.Next(), words));
    for (uint64_t& word : key) word = reader.Next();
    std::optional<ops::PackedBytes> packed = ReadWeight(file, reader, verify);
    if (!packed.has_value() || !reader.ok()) return std::nullopt;
    weights.emplace(std::move(key), *std::move(packed));
  }
  return weights;
}

}  // namespace

std::optional<PackedFile> OpenPackedFile(const std::string& path, const ContentHash& content,
                                         const std::optional<FileIdentity>& trusted) {
  const auto file = FileBytes::Open(path);
  if (!file.ok()) return std::nullopt;
  const absl::string_view bytes = (*file)->bytes();
  WordReader reader(bytes);
  const FileWords expected = {kPackMagic,   kFormat,     static_cast<uint64_t>(ops::PanelWidth()),
                              content.size, content.low, content.high};
  for (const uint64_t word : expected) {
    if (reader.Next() != word) return std::nullopt;
  }
  const uint64_t words = reader.Next();
  // Written so that no sum can overflow.
  if (!reader.ok() || words > bytes.size() / sizeof(uint64_t) - kHeaderWords) return std::nullopt;
  const uint64_t head = (kHeaderWords + words) * sizeof(uint64_t);
  WordReader after(bytes.substr(head));
  if (after.Next() != Checksum::Of(bytes.substr(0, head)).low || !after.ok()) return std::nullopt;
  const FileIdentity& identity = (*file)->identity();
  auto weights = ReadIndex(*file, words, /*verify=*/trusted != identity);
  if (!weights.has_value()) return std::nullopt;
  return PackedFile{*std::move(weights), identity};
}

absl::StatusOr<FileIdentity> WritePackedFile(const std::string& path, const ContentHash& content,
                                             const PackedWeights& weights) {
  const uint64_t words = WordsOfIndex(weights);
  FileWords head = {kPackMagic,   kFormat,     static_cast<uint64_t>(ops::PanelWidth()),
                    content.size, content.low, content.high,
                    words};
  Parts parts(Aligned((kHeaderWords + words + 1) * sizeof(uint64_t)));
  for (const auto& [key, packed] : weights) {
    head.push_back(key.size());
    head.insert(head.end(), key.begin(), key.end());
    head.push_back(packed.facts);
    head.push_back(packed.parts.size());
    for (const Tensor& part : packed.parts) parts.Append(BytesOfPart(part), head);
  }
  head.push_back(Checksum::Of(BytesOf(head)).low);
  head.resize(Aligned(head.size() * sizeof(uint64_t)) / sizeof(uint64_t), 0);
  std::vector<absl::string_view> bytes = {BytesOf(head)};
  bytes.insert(bytes.end(), parts.bytes().begin(), parts.bytes().end());
  return ReplaceFile(path, bytes);
}

}  // namespace attnrun::cache
