// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/packed_file.h"

#include <algorithm>
#include <limits>
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
// To be increased when the layout of panels changes.
constexpr uint64_t kFormat = 2;
constexpr size_t kHeaderWords = 7;
// Words of an index entry in addition to its key.
constexpr size_t kEntryWords = 6;
constexpr uint64_t kPanelAlignment = 64;

uint64_t Aligned(uint64_t offset) { return DivCeil(offset, kPanelAlignment) * kPanelAlignment; }

absl::string_view PanelsOf(const ops::PackedMatrix& matrix) {
  return {static_cast<const char*>(matrix.panels().raw()), matrix.panels().byte_size()};
}

// Header and index, without the checksum that follows them.
FileWords HeadOf(const ContentHash& content, const PackedMatrices& matrices) {
  uint64_t words = 0;
  for (const auto& [key, matrix] : matrices) words += key.size() + kEntryWords;
  FileWords head = {kPackMagic,   kFormat,     static_cast<uint64_t>(ops::PanelWidth()),
                    content.size, content.low, content.high,
                    words};
  uint64_t begin = Aligned((kHeaderWords + words + 1) * sizeof(uint64_t));
  for (const auto& [key, matrix] : matrices) {
    head.push_back(key.size());
    head.insert(head.end(), key.begin(), key.end());
    head.push_back(static_cast<uint64_t>(matrix->format()));
    head.push_back(matrix->rows());
    head.push_back(matrix->columns());
    head.push_back(begin);
    head.push_back(Checksum::Of(PanelsOf(*matrix)).low);
    begin = Aligned(begin + PanelsOf(*matrix).size());
  }
  return head;
}

// The panels one after the other, each followed by its padding.
std::vector<absl::string_view> PartsOf(const PackedMatrices& matrices) {
  static constexpr char kZeros[kPanelAlignment] = {};
  std::vector<absl::string_view> parts;
  for (const auto& [key, matrix] : matrices) {
    const absl::string_view panels = PanelsOf(*matrix);
    parts.push_back(panels);
    parts.emplace_back(kZeros, Aligned(panels.size()) - panels.size());
  }
  return parts;
}

// The format with this number; nullopt if there is none.
std::optional<ops::WeightFormat> FormatOf(uint64_t word) {
  if (word > static_cast<uint64_t>(ops::kLastWeightFormat)) return std::nullopt;
  return static_cast<ops::WeightFormat>(word);
}

// A view of the matrix whose panels start at `begin`; null if the file does not hold all of them.
std::shared_ptr<const ops::PackedMatrix> ViewPanels(const std::shared_ptr<const FileBytes>& file,
                                                    uint64_t format_word, uint64_t rows,
                                                    uint64_t columns, uint64_t begin) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  const absl::string_view bytes = file->bytes();
  const std::optional<ops::WeightFormat> format = FormatOf(format_word);
  if (!format.has_value() || rows == 0 || columns == 0 || rows > kMost || columns > kMost ||
      begin > bytes.size() || begin % kPanelAlignment != 0) {
    return nullptr;
  }
  const auto k = static_cast<int64_t>(rows);
  const auto panel = static_cast<uint64_t>(ops::PanelBytes(*format, k));
  const uint64_t panels = DivCeil(columns, static_cast<uint64_t>(ops::PanelColumns(*format)));
  if (panels > (bytes.size() - begin) / panel) return nullptr;
  const Shape shape = {static_cast<int64_t>(panels), static_cast<int64_t>(panel)};
  auto tensor = Tensor::Borrow(DataType::kUint8, shape, bytes.data() + begin, panels * panel, file);
  if (!tensor.ok()) return nullptr;
  return ops::PackedMatrix::Of(*format, k, static_cast<int64_t>(columns), *std::move(tensor));
}

// With `verify`, reads all panels and compares their checksums.
std::optional<PackedMatrices> ReadIndex(const std::shared_ptr<const FileBytes>& file,
                                        uint64_t words, bool verify) {
  const absl::string_view bytes = file->bytes();
  WordReader reader(bytes.substr(kHeaderWords * sizeof(uint64_t), words * sizeof(uint64_t)));
  PackedMatrices matrices;
  for (uint64_t read = 0; read < words;) {
    WeightKey key(std::min(reader.Next(), words));
    for (uint64_t& word : key) word = reader.Next();
    const uint64_t format = reader.Next();
    const uint64_t rows = reader.Next();
    const uint64_t columns = reader.Next();
    const uint64_t begin = reader.Next();
    const uint64_t checksum = reader.Next();
    read += key.size() + kEntryWords;
    std::shared_ptr<const ops::PackedMatrix> matrix =
        ViewPanels(file, format, rows, columns, begin);
    if (matrix == nullptr || !reader.ok()) return std::nullopt;
    if (verify && Checksum::Of(PanelsOf(*matrix)).low != checksum) return std::nullopt;
    matrices.emplace(std::move(key), std::move(matrix));
  }
  return matrices;
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
  auto matrices = ReadIndex(*file, words, /*verify=*/trusted != identity);
  if (!matrices.has_value()) return std::nullopt;
  return PackedFile{*std::move(matrices), identity};
}

absl::StatusOr<FileIdentity> WritePackedFile(const std::string& path, const ContentHash& content,
                                             const PackedMatrices& matrices) {
  std::vector<absl::string_view> parts = PartsOf(matrices);
  FileWords head = HeadOf(content, matrices);
  head.push_back(Checksum::Of(BytesOf(head)).low);
  head.resize(Aligned(head.size() * sizeof(uint64_t)) / sizeof(uint64_t), 0);
  parts.insert(parts.begin(), BytesOf(head));
  return ReplaceFile(path, parts);
}

}  // namespace attnrun::cache
