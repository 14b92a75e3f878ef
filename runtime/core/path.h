// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_PATH_H_
#define ATTNRUN_CORE_PATH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace attnrun {

// Paths of POSIX as text. A std::filesystem::path leaks or frees memory twice where an allocation
// fails, and its iterators end the process.

// True if the path leads to one, through links, too.
bool IsFile(const std::string& path);
bool IsFolder(const std::string& path);

// "b.onnx" of "a/b.onnx"; empty for "a/".
absl::string_view FileName(absl::string_view path);
// "a" of "a/b" and "a//b", "." of "b", "/" of "/b".
absl::string_view FolderOf(absl::string_view path);

// `path` without ".", double slashes, and ".." where a name precedes it: "." for "a/..", "../b" for
// "a/../../b". Links are not followed.
std::string Normal(absl::string_view path);
// The path from the root, with its dots: behind a link ".." is not the folder before it. Relative
// paths begin in the working folder.
std::string AbsolutePath(absl::string_view path);
// The absolute path without links; nullopt if there is no such file.
std::optional<std::string> RealPath(const std::string& path);

// The names in a folder, in no order; none if they cannot all be listed. Throws std::bad_alloc, as
// all of these may.
std::vector<std::string> NamesIn(const std::string& folder);

// Makes a folder and those that it is in, as far as they do not exist. Gives 0 or the error number.
int MakeFolders(const std::string& folder);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_PATH_H_
