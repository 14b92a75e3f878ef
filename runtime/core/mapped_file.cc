// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/file_pages.h"

namespace attnrun {
namespace {

absl::Status OpenError(int error) {
  if (error == ENOENT) return absl::NotFoundError("there is no such file");
  return absl::ErrnoToStatus(error, "cannot be read");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK, open() on a named pipe would wait for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return OpenError(errno);
  const auto closer = absl::MakeCleanup([file] { close(file); });
  struct stat status;
  if (fstat(file, &status) != 0) return OpenError(errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(S_ISDIR(status.st_mode)
                                          ? "expected a file, but this is a folder"
                                          : "expected a regular file, but this is not one");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return OpenError(errno);
    AddFileMap(data, size);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const char*>(data), FileIdentity::Of(status)));
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  RemoveFileMap(data_);
  munmap(const_cast<char*>(data_), size_);
}

}  // namespace attnrun
