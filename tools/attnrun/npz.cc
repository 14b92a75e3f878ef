// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/npz.h"

#include <zip.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/status.h"
#include "tools/attnrun/npy.h"
#include "tools/attnrun/output_file.h"
#include "tools/attnrun/parts.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

absl::Status FromZip(zip_error_t* error) {
  const bool missing = zip_error_code_zip(error) == ZIP_ER_NOENT;
  const std::string text = zip_error_strerror(error);
  return missing ? absl::NotFoundError(text) : absl::InvalidArgumentError(text);
}

absl::Status FromZip(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  absl::Status status = FromZip(&error);
  zip_error_fini(&error);
  return status;
}

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

class EntrySource final : public ByteSource {
 public:
  EntrySource(std::unique_ptr<zip_file_t, CloseEntry> entry, uint64_t size)
      : entry_(std::move(entry)), remaining_(static_cast<int64_t>(size)) {}

  absl::Status Read(void* data, size_t size) override {
    auto* out = static_cast<char*>(data);
    for (size_t left = size; left > 0;) {
      const zip_int64_t found = zip_fread(entry_.get(), out, left);
      if (found < 0) return FromZip(zip_file_get_error(entry_.get()));
      if (found == 0)
        return absl::InvalidArgumentError(absl::StrCat("ends ", left, " bytes early"));
      out += found;
      left -= found;
    }
    remaining_ -= static_cast<int64_t>(size);
    return absl::OkStatus();
  }

  int64_t remaining() const override { return remaining_; }

  // Checks that the archive's directory, data and checksum agree. libzip compares them only when
  // asked to read beyond the last byte.
  absl::Status CheckEnd() {
    char extra = 0;
    const zip_int64_t found = zip_fread(entry_.get(), &extra, 1);
    if (found == 0) return absl::OkStatus();
    if (found < 0) return FromZip(zip_file_get_error(entry_.get()));
    return absl::InvalidArgumentError("holds more bytes than its header announces");
  }

 private:
  std::unique_ptr<zip_file_t, CloseEntry> entry_;
  int64_t remaining_;
};

// Compares the size that the archive's directory announces with what a file of `file_size` bytes
// can hold, so that nothing is reserved for elements that are not there.
absl::Status CheckSize(const zip_stat_t& facts, uintmax_t file_size) {
  // Deflate makes 258 bytes of two bits at best.
  constexpr zip_uint64_t kMostPerByte = 1032;
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((facts.valid & kNeeded) != kNeeded) return absl::OkStatus();
  const bool is_known = facts.comp_method == ZIP_CM_STORE || facts.comp_method == ZIP_CM_DEFLATE;
  if (facts.comp_size <= file_size && (!is_known || facts.size / kMostPerByte <= facts.comp_size)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the directory announces ", facts.size,
                                                 " bytes, but the file has ", facts.comp_size,
                                                 " for them"));
}

}  // namespace

void NpzFile::Close::operator()(zip* archive) const { zip_discard(archive); }

absl::StatusOr<NpzFile> NpzFile::Open(const std::string& path) {
  int code = 0;
  NpzFile file;
  file.path_ = path;
  file.archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (file.archive_ == nullptr) {
    return Annotate(FromZip(code), absl::StrCat(path, ": cannot be read as an .npz archive"));
  }
  const zip_int64_t count = zip_get_num_entries(file.archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(file.archive_.get(), i, ZIP_FL_ENC_RAW);
    absl::string_view stem = name == nullptr ? "" : name;
    if (!absl::ConsumeSuffix(&stem, ".npy")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected .npy entries, but found '", Printable(stem), "'"));
    }
    if (!file.entries_.emplace(stem, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": holds '", Printable(stem), "' twice"));
    }
  }
  return file;
}

absl::StatusOr<Tensor> NpzFile::Read(const std::string& name) const {
  const std::string context = absl::StrCat(path_, ": array '", Printable(name), "'");
  const uint64_t index = entries_.at(name);
  zip_stat_t facts;
  zip_stat_init(&facts);
  zip_file_t* entry = nullptr;
  if (zip_stat_index(archive_.get(), index, 0, &facts) == 0) {
    entry = zip_fopen_index(archive_.get(), index, 0);
  }
  if (entry == nullptr) return Annotate(FromZip(zip_get_error(archive_.get())), context);
  std::unique_ptr<zip_file_t, CloseEntry> opened(entry);
  std::error_code error;
  ATTNRUN_RETURN_IF_ERROR(
      Annotate(CheckSize(facts, std::filesystem::file_size(path_, error)), context));
  EntrySource source(std::move(opened), (facts.valid & ZIP_STAT_SIZE) != 0 ? facts.size : 0);
  absl::StatusOr<Tensor> tensor = ReadNpy(source);
  if (!tensor.ok()) return Annotate(tensor.status(), context);
  ATTNRUN_RETURN_IF_ERROR(Annotate(source.CheckEnd(), context));
  return tensor;
}

namespace {

// Adds an entry made of `bytes`, which must live until the archive is closed.
absl::Status AddEntry(zip_t* archive, const std::string& name, const NpyBytes& bytes) {
  std::array<zip_buffer_fragment_t, 2> parts = {};
  parts[0].data = reinterpret_cast<zip_uint8_t*>(const_cast<char*>(bytes.header.data()));
  parts[0].length = bytes.header.size();
  parts[1].data = static_cast<zip_uint8_t*>(const_cast<void*>(bytes.elements.raw()));
  parts[1].length = bytes.elements.byte_size();
  const size_t count = parts[1].length == 0 ? 1 : 2;
  zip_source_t* source = zip_source_buffer_fragment(archive, parts.data(), count, 0);
  if (source == nullptr) return FromZip(zip_get_error(archive));
  const std::string entry = name + ".npy";
  const zip_int64_t index = zip_file_add(archive, entry.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return FromZip(zip_get_error(archive));
  }
  zip_set_file_compression(archive, index, ZIP_CM_STORE, 0);
  // 1 January 1980, the first date that zip can express, so that equal tensors give equal files.
  constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;
  zip_file_set_dostime(archive, index, 0, kFirstDay, 0);
  return absl::OkStatus();
}

absl::Status WriteArchive(const std::string& path,
                          const std::vector<std::pair<std::string, NpyBytes>>& entries) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) return FromZip(code);
  absl::Status status;
  for (const auto& [name, bytes] : entries) {
    if (status.ok()) status = Annotate(AddEntry(archive, name, bytes), Printable(name));
  }
  if (status.ok() && zip_close(archive) == 0) return absl::OkStatus();
  if (status.ok()) status = FromZip(zip_get_error(archive));
  zip_discard(archive);
  return status;
}

}  // namespace

absl::Status WriteNpz(const std::string& path, const TensorMap& values) {
  std::vector<std::pair<std::string, NpyBytes>> entries;
  for (const auto& [name, tensor] : ArraysOf({values.begin(), values.end()})) {
    absl::StatusOr<NpyBytes> bytes = ToNpy(tensor);
    if (!bytes.ok()) return Annotate(bytes.status(), absl::StrCat(path, ": ", Printable(name)));
    entries.emplace_back(name, *std::move(bytes));
  }
  return WriteAtomically(
      path, [&entries](const std::string& temporary) { return WriteArchive(temporary, entries); });
}

}  // namespace attnrun::cli
