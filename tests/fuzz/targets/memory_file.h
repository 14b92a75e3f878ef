// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_MEMORY_FILE_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "fuzz/targets/target.h"

namespace attnrun::testing {

// A file that lies in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(absl::string_view bytes) : file_(memfd_create("fuzz", 0)) {
    if (file_ < 0 ||
        write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      Fail("a file in memory cannot be written");
    }
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return absl::StrCat("/proc/self/fd/", file_); }

 private:
  const int file_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_MEMORY_FILE_H_
