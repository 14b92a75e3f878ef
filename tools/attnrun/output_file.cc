// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::cli {
namespace {

namespace fs = std::filesystem;

// The path to write: `path` or, for a symbolic link, its target, existing or not.
fs::path Target(const std::string& path) {
  // The number of links that the kernel follows.
  constexpr int kMostLinks = 40;
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i) {
    const fs::path link = fs::read_symlink(target, error);
    target = link.is_absolute() ? link : target.parent_path() / link;
  }
  return target;
}

fs::path Folder(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

absl::Status Check(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return absl::InvalidArgumentError("cannot be written: it is not a regular file");
  }
  const fs::path folder = Folder(target);
  if (access(folder.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot be written to ", folder.string()));
}

}  // namespace

absl::Status CheckWritable(const std::string& path) { return Annotate(Check(Target(path)), path); }

absl::Status WriteAtomically(const std::string& path,
                             absl::FunctionRef<absl::Status(const std::string&)> write) {
  const fs::path target = Target(path);
  ATTNRUN_RETURN_IF_ERROR(Annotate(Check(target), path));
  const std::string temporary = absl::StrCat(target.string(), ".", getpid(), ".partial");
  absl::Status status = write(temporary);
  std::error_code error;
  if (status.ok()) {
    fs::rename(temporary, target, error);
    if (error) status = absl::ErrnoToStatus(error.value(), "cannot be written");
  }
  if (!status.ok()) fs::remove(temporary, error);
  return Annotate(status, path);
}

absl::Status WriteText(const std::string& path, absl::string_view text) {
  return WriteAtomically(path, [text](const std::string& temporary) {
    std::ofstream file(temporary, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    return file.good() ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot be written");
  });
}

}  // namespace attnrun::cli
