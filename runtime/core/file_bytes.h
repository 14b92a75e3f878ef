// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FILE_BYTES_H_
#define ATTNRUN_CORE_FILE_BYTES_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/file_identity.h"

namespace attnrun {

// How the bytes of a file come into memory.
enum class FileAccess {
  // Mapped read-only and private. The file must not change while it is mapped.
  kMap,
  // Copied. Changes of the file make no difference afterwards.
  kRead,
};

// The bytes of a regular file. Pages are unmapped on destruction.
class FileBytes {
 public:
  // kNotFound: no such file. kPermissionDenied: not readable. kInvalidArgument: not a regular file.
  // kResourceExhausted: no memory for a copy, or more than `most_bytes`. kAborted: the file changed
  // while it was copied. The message does not name the path.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> Open(
      const std::string& path, FileAccess access = FileAccess::kMap,
      int64_t most_bytes = std::numeric_limits<int64_t>::max());

  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  // The path given to Open.
  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return {data_, identity_.size}; }
  // The state of the file when it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  FileBytes(std::string path, const FileIdentity& identity)
      : path_(std::move(path)), identity_(identity) {}

  const std::string path_;
  const FileIdentity identity_;
  // Null if the file is empty.
  const char* data_ = nullptr;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_FILE_BYTES_H_
