// SPDX-License-Identifier: Apache-2.0
#include "core/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "core/fork.h"

namespace attnrun {
namespace {

// End address of each map by its start address.
struct FileMaps {
  std::shared_mutex mutex;
  std::map<uintptr_t, uintptr_t> ends;
};

}  // namespace

void AddFileMap(const void* data, size_t size) {
  FileMaps& maps = PerProcess<FileMaps>();
  const std::lock_guard<std::shared_mutex> lock(maps.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  maps.ends[begin] = begin + size;
}

void RemoveFileMap(const void* data) {
  FileMaps& maps = PerProcess<FileMaps>();
  const std::lock_guard<std::shared_mutex> lock(maps.mutex);
  maps.ends.erase(reinterpret_cast<uintptr_t>(data));
}

void ReleaseFilePages(const void* data, size_t size) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + page - 1) / page * page;
  const uintptr_t end = (address + size) / page * page;
  if (begin >= end) return;
  FileMaps& maps = PerProcess<FileMaps>();
  // Held so that the file is not unmapped meanwhile.
  const std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const auto after = maps.ends.upper_bound(address);
  if (after == maps.ends.begin() || std::prev(after)->second < address + size) return;
  // A failure only means that the memory is not saved.
  const char* const first = static_cast<const char*>(data) + (begin - address);
  madvise(const_cast<char*>(first), end - begin, MADV_DONTNEED);
}

}  // namespace attnrun
