// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace attnrun::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class FileSource final : public ByteSource {
 public:
  FileSource(File file, int64_t size) : file_(std::move(file)), remaining_(size) {}

  absl::Status Read(void* data, size_t size) override {
    const size_t found = size == 0 ? 0 : std::fread(data, 1, size, file_.get());
    if (found != size) {
      return absl::InvalidArgumentError(
          absl::StrCat("the file ends ", size - found, " bytes earlier than its header announces"));
    }
    remaining_ -= static_cast<int64_t>(size);
    return absl::OkStatus();
  }

  int64_t remaining() const override { return remaining_; }

 private:
  File file_;
  int64_t remaining_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  // Without O_NONBLOCK, open() on a named pipe would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "cannot be opened");
  File file(fdopen(descriptor, "rb"));
  if (file == nullptr) {
    close(descriptor);
    return absl::ErrnoToStatus(errno, "cannot be opened");
  }
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) return absl::ErrnoToStatus(errno, "cannot be read");
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError("is not a regular file");
  return std::make_unique<FileSource>(std::move(file), facts.st_size);
}

}  // namespace attnrun::cli
