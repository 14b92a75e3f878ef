// SPDX-License-Identifier: Apache-2.0
#include "loader/external_data.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::loader {
namespace {

namespace fs = std::filesystem;

// True if `path` is inside `folder`. Both must be canonical.
bool IsBelow(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

absl::Status CheckLocation(const fs::path& location) {
  if (location.empty()) return absl::InvalidArgumentError("the location of its data is empty");
  // System calls would end the name at the zero byte.
  if (location.native().find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the location of its data contains a zero byte");
  }
  if (location.is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a location relative to the model's folder, but found the absolute ",
                     Quoted(location.native())));
  }
  if (*location.lexically_normal().begin() == "..") {
    return absl::InvalidArgumentError(
        absl::StrCat("the location ", Quoted(location.native()), " is outside the model's folder"));
  }
  return absl::OkStatus();
}

fs::path FolderOf(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

absl::StatusOr<fs::path> Resolve(const fs::path& model, const fs::path& location) {
  ATTNRUN_RETURN_IF_ERROR(CheckLocation(location));
  std::error_code error;
  const std::array<fs::path, 2> folders = {fs::canonical(FolderOf(model), error),
                                           FolderOf(fs::canonical(model, error))};
  for (const fs::path& folder : folders) {
    fs::path path = fs::canonical(folder / location, error);
    if (error) continue;
    // The cache of a model hub is a folder of links into a store of files named by content.
    if (IsBelow(path, folders[0]) || IsBelow(path, folders[1])) return path;
    return absl::InvalidArgumentError(absl::StrCat("the location ", Quoted(location.native()),
                                                   " leads to ", Quoted(path.native()),
                                                   ", outside the model's folder"));
  }
  return absl::NotFoundError(absl::StrCat("there is no file ", Quoted(location.native()),
                                          " in the model's folder ", Quoted(folders[0].native())));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FileBytes>> ExternalData::Open(const std::string& location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  ATTNRUN_ASSIGN_OR_RETURN(const fs::path path, Resolve(model_path_, location));
  absl::StatusOr<std::shared_ptr<const FileBytes>> file =
      FileBytes::Open(path, access_, most_bytes_);
  if (!file.ok()) return Annotate(file.status(), absl::StrCat("data file ", Quoted(location)));
  files_[location] = *file;
  return file;
}

std::vector<std::shared_ptr<const FileBytes>> ExternalData::files() const {
  std::vector<std::shared_ptr<const FileBytes>> files;
  files.reserve(files_.size());
  for (const auto& [location, file] : files_) files.push_back(file);
  return files;
}

}  // namespace attnrun::loader
