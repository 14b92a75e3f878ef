// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FILE_IDENTITY_H_
#define ATTNRUN_CORE_FILE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>

namespace attnrun {

// Identifies a file and its state: a write changes the modification time.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  // Nanoseconds since 1970.
  uint64_t modified = 0;

  static FileIdentity Of(const struct stat& status) {
    constexpr uint64_t kSecond = 1'000'000'000;
    return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
            static_cast<uint64_t>(status.st_mtim.tv_sec) * kSecond +
                static_cast<uint64_t>(status.st_mtim.tv_nsec)};
  }

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_FILE_IDENTITY_H_
