// SPDX-License-Identifier: Apache-2.0
#include "loader/external_data.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/path.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::loader {
namespace {

// True if `path` is `folder` or inside it. Both must be real.
bool IsBelow(absl::string_view path, absl::string_view folder) {
  return absl::ConsumePrefix(&path, folder) &&
         (folder == "/" || path.empty() || absl::StartsWith(path, "/"));
}

absl::Status CheckLocation(const std::string& location) {
  if (location.empty()) return absl::InvalidArgumentError("the location of its data is empty");
  // System calls would end the name at the zero byte.
  if (location.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the location of its data contains a zero byte");
  }
  if (absl::StartsWith(location, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a location relative to the model's folder, but found the absolute ",
                     Quoted(location)));
  }
  const std::string normal = Normal(location);
  if (normal == ".." || absl::StartsWith(normal, "../")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the location ", Quoted(location), " is outside the model's folder"));
  }
  return absl::OkStatus();
}

// The folder of the model and that of the file to which its links lead, as far as they exist. The
// cache of a model hub is a folder of links into a store of files named by content.
std::vector<std::string> FoldersOf(const std::string& model) {
  std::vector<std::string> folders;
  if (auto folder = RealPath(std::string(FolderOf(model)))) folders.push_back(*std::move(folder));
  if (const auto target = RealPath(model)) folders.emplace_back(FolderOf(*target));
  return folders;
}

absl::StatusOr<std::string> Resolve(const std::string& model, const std::string& location) {
  ATTNRUN_RETURN_IF_ERROR(CheckLocation(location));
  const std::vector<std::string> folders = FoldersOf(model);
  for (const std::string& folder : folders) {
    std::optional<std::string> path = RealPath(absl::StrCat(folder, "/", location));
    if (!path.has_value()) continue;
    const bool inside =
        absl::c_any_of(folders, [&](const std::string& own) { return IsBelow(*path, own); });
    if (inside) return *std::move(path);
    return absl::InvalidArgumentError(absl::StrCat("the location ", Quoted(location), " leads to ",
                                                   Quoted(*path), ", outside the model's folder"));
  }
  const absl::string_view folder = folders.empty() ? FolderOf(model) : folders[0];
  return absl::NotFoundError(absl::StrCat("there is no file ", Quoted(location),
                                          " in the model's folder ", Quoted(folder)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FileBytes>> ExternalData::Open(const std::string& location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  ATTNRUN_ASSIGN_OR_RETURN(const std::string path, Resolve(model_path_, location));
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
