// SPDX-License-Identifier: Apache-2.0
#include "core/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/file_pages.h"
#include "core/status.h"

namespace attnrun {
namespace {

absl::Status OpenError(int error) {
  if (error == ENOENT) return absl::NotFoundError("there is no such file");
  return absl::ErrnoToStatus(error, "cannot be read");
}

absl::StatusOr<FileIdentity> IdentityOf(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return OpenError(errno);
  if (S_ISREG(status.st_mode)) return FileIdentity::Of(status);
  return absl::InvalidArgumentError(S_ISDIR(status.st_mode)
                                        ? "expected a file, but this is a folder"
                                        : "expected a regular file, but this is not one");
}

// Fills `data` with the file's first `size` bytes.
absl::Status ReadAll(int file, char* data, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t count = pread(file, data + at, size - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return OpenError(errno);
    if (count == 0) return absl::AbortedError("the file became shorter while it was read");
    at += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

// Pages of their own, as large as the file, which is not empty.
absl::StatusOr<char*> Pages(int file, size_t size, FileAccess access) {
  const bool maps = access == FileAccess::kMap;
  void* const data =
      maps ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0)
           : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return OpenError(errno);
  return static_cast<char*>(data);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FileBytes>> FileBytes::Open(const std::string& path,
                                                                 FileAccess access,
                                                                 int64_t most_bytes) {
  // Without O_NONBLOCK, open() on a named pipe would wait for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return OpenError(errno);
  const auto closer = absl::MakeCleanup([file] { close(file); });
  ATTNRUN_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(file));
  if (identity.size > static_cast<uint64_t>(most_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it has ", identity.size, " bytes, but the limit is ", most_bytes));
  }
  std::shared_ptr<FileBytes> bytes(new FileBytes(path, identity));
  if (identity.size == 0) return bytes;
  ATTNRUN_ASSIGN_OR_RETURN(char* const data, Pages(file, identity.size, access));
  // From here on its destructor unmaps them, also when memory runs out.
  bytes->data_ = data;
  if (access == FileAccess::kMap) {
    AddFileMap(data, identity.size);
    return bytes;
  }
  ATTNRUN_RETURN_IF_ERROR(ReadAll(file, data, identity.size));
  ATTNRUN_ASSIGN_OR_RETURN(const FileIdentity after, IdentityOf(file));
  if (after != identity) return absl::AbortedError("the file changed while it was read");
  return bytes;
}

FileBytes::~FileBytes() {
  if (data_ == nullptr) return;
  RemoveFileMap(data_);
  munmap(const_cast<char*>(data_), identity_.size);
}

}  // namespace attnrun
