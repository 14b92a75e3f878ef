// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace attnrun {
namespace {

// The type bits of a file's mode; 0 if there is none.
mode_t TypeOf(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

struct CloseFolder {
  void operator()(DIR* open) const { closedir(open); }
};

struct Free {
  void operator()(char* text) const { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc)
};

// System functions that give nothing set errno.
void ThrowIfNoMemory(bool gave_nothing) {
  if (gave_nothing && errno == ENOMEM) throw std::bad_alloc();
}

std::string WorkingFolder() {
  const std::unique_ptr<char, Free> folder(getcwd(nullptr, 0));
  ThrowIfNoMemory(folder == nullptr);
  return folder == nullptr ? "" : folder.get();
}

}  // namespace

bool IsFile(const std::string& path) { return TypeOf(path) == S_IFREG; }
bool IsFolder(const std::string& path) { return TypeOf(path) == S_IFDIR; }

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

absl::string_view FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  const size_t last = path.find_last_not_of('/', slash);
  return path.substr(0, last == absl::string_view::npos ? 1 : last + 1);
}

std::string Normal(absl::string_view path) {
  const bool from_root = absl::StartsWith(path, "/");
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != ".." || (parts.empty() ? !from_root : parts.back() == "..")) {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  if (from_root) return absl::StrCat("/", absl::StrJoin(parts, "/"));
  return parts.empty() ? "." : absl::StrJoin(parts, "/");
}

std::string AbsolutePath(absl::string_view path) {
  if (absl::StartsWith(path, "/")) return std::string(path);
  return absl::StrCat(WorkingFolder(), "/", path);
}

std::optional<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, Free> real(realpath(path.c_str(), nullptr));
  ThrowIfNoMemory(real == nullptr);
  if (real == nullptr) return std::nullopt;
  return real.get();
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> open(opendir(folder.c_str()));
  ThrowIfNoMemory(open == nullptr);
  if (open == nullptr) return names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) names.clear();
  return names;
}

int MakeFolders(const std::string& folder) {
  if (IsFolder(folder)) return 0;
  constexpr mode_t kAll = 0777;
  const std::string outer(FolderOf(folder));
  if (outer.size() < folder.size()) {
    if (const int error = MakeFolders(outer); error != 0) return error;
  }
  // Another process may make it meanwhile; a path that ends with a slash is made already.
  if (mkdir(folder.c_str(), kAll) == 0) return 0;
  const int error = errno;
  if (error != EEXIST) return error;
  return IsFolder(folder) ? 0 : ENOTDIR;
}

}  // namespace attnrun
