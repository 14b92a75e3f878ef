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

// The bytes of a regular file, mapped read-only and private; unmapped on destruction. The file must
// not be changed meanwhile.
class MappedFile {
 public:
  // kNotFound if there is no such file, kPermissionDenied if it may not be read, kInvalidArgument
  // if it is no regular file. The message does not name the path.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // As it was asked for.
  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return {data_, size_}; }
  // As the file was when it was opened.
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
