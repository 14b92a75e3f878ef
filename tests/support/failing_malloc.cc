// SPDX-License-Identifier: Apache-2.0
#include "support/failing_malloc.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "support/sanitizer.h"

#if ATTNRUN_SANITIZER

namespace attnrun::testing {

bool CanFailAllocations() { return false; }
void FailAllocations(int64_t, int64_t) {}
int64_t StopFailing() { return 0; }
void CountAllocations() {}
int64_t StopCounting() { return 0; }
int64_t LiveAllocations() { return 0; }

}  // namespace attnrun::testing

#else

namespace {

// Allocations since FailAllocations; those numbered begin to end - 1 fail.
std::atomic<int64_t> number = 0;
std::atomic<int64_t> begin = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> end = 0;
std::atomic<int64_t> failed = 0;
std::atomic<int64_t> live = 0;

bool Fails() {
  if (begin.load(std::memory_order_relaxed) == std::numeric_limits<int64_t>::max()) return false;
  const int64_t mine = number.fetch_add(1);
  if (mine < begin || mine >= end) return false;
  ++failed;
  errno = ENOMEM;
  return true;
}

void* Counted(void* memory) {
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// The GNU C library's own functions, under their second names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) { return Fails() ? nullptr : Counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) {
  return Fails() ? nullptr : Counted(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  if (memory == nullptr) return malloc(size);
  return Fails() ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return Fails() ? nullptr : Counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace attnrun::testing {

bool CanFailAllocations() { return true; }

void FailAllocations(int64_t first, int64_t count) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  number = 0;
  failed = 0;
  end = count > kMost - first ? kMost : first + count;
  begin = first;
}

int64_t StopFailing() {
  begin = std::numeric_limits<int64_t>::max();
  return failed;
}

void CountAllocations() { FailAllocations(std::numeric_limits<int64_t>::max() - 1, 0); }

int64_t StopCounting() {
  StopFailing();
  return number;
}

int64_t LiveAllocations() { return live; }

}  // namespace attnrun::testing

#endif
