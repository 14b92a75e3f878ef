// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/replace_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <random>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "weight_cache/cache_files.h"

namespace attnrun::cache {
namespace {

absl::Status Failed(absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("'", path, "' cannot be written"));
}

// A random name, so that no other process sharing the directory picks the same one. Process ids
// would not do, since processes in different containers may share them.
std::string NameMeanwhile(const std::string& path) {
  std::random_device random;
  return absl::StrCat(path, ".", absl::Hex(random()), absl::Hex(random()), kUnfinishedSuffix);
}

bool WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// While it exists, a file that grows beyond the process's limit is an error (EFBIG) and does not
// end the process.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &Signals(), &before_);
  }
  ~NoSizeSignal() {
    constexpr timespec kNoWait = {};
    if (!was_pending_) sigtimedwait(&Signals(), nullptr, &kNoWait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  static const sigset_t& Signals() {
    static const sigset_t signals = [] {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGXFSZ);
      return set;
    }();
    return signals;
  }

  sigset_t before_;
  bool was_pending_ = false;
};

// Errors name `path`, the file that the new one will be, since nobody knows the other name.
absl::StatusOr<FileIdentity> Write(const std::string& meanwhile, const std::string& path,
                                   absl::Span<const absl::string_view> parts) {
  const NoSizeSignal no_signal;
  const int file = open(meanwhile.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return Failed(path);
  const auto closer = absl::MakeCleanup([file] { close(file); });
  for (const absl::string_view part : parts) {
    if (!WriteAll(file, part)) return Failed(path);
  }
  struct stat status;
  if (fsync(file) != 0 || fstat(file, &status) != 0) return Failed(path);
  return FileIdentity::Of(status);
}

}  // namespace

absl::StatusOr<FileIdentity> ReplaceFile(const std::string& path,
                                         absl::Span<const absl::string_view> parts) {
  const std::string meanwhile = NameMeanwhile(path);
  auto remover = absl::MakeCleanup([&] { unlink(meanwhile.c_str()); });
  ATTNRUN_ASSIGN_OR_RETURN(const FileIdentity identity, Write(meanwhile, path, parts));
  if (std::rename(meanwhile.c_str(), path.c_str()) != 0) return Failed(path);
  std::move(remover).Cancel();
  return identity;
}

}  // namespace attnrun::cache
