// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_MAPPED_FILE_H_
#define ATTNRUN_CORE_MAPPED_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/file_identity.h"

namespace attnrun {

// A regular file, mapped read-only and private, unmapped on destruction. The file must not change
// while it is mapped.
class MappedFile {
 public:
  // kNotFound: no such file. kPermissionDenied: not readable. kInvalidArgument: not a regular file.
  // The message does not name the path.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // The path given to Open.
  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return {data_, size_}; }
  // The state of the file when it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  MappedFile(std::string path, const char* data, const FileIdentity& identity)
      : path_(std::move(path)), data_(data), size_(identity.size), identity_(identity) {}

  std::string path_;
  const char* data_;
  size_t size_;
  FileIdentity identity_;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_MAPPED_FILE_H_
