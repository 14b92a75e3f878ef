// SPDX-License-Identifier: Apache-2.0
#include "core/fork.h"

#include <pthread.h>

namespace attnrun {
namespace {

std::atomic<uint32_t> forks = 0;

}  // namespace

uint32_t Forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

bool CallCount::Enter() {
  uint64_t before = word_.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t calls = before & 0xFFFFFFFF;
    const bool is_same_process = before >> 32 == Forks();
    if (!is_same_process && calls > 0) return false;
    const uint64_t after = (uint64_t{Forks()} << 32) + calls + 1;
    if (word_.compare_exchange_weak(before, after, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
}

}  // namespace attnrun
