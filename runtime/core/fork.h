// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FORK_H_
#define ATTNRUN_CORE_FORK_H_

#include <atomic>
#include <cstdint>

namespace attnrun {

// A child made by fork() has only the thread that forked. Locks that other threads of the parent
// held stay locked in it, and threads that slept are not there to be woken.

// The number of forks from the process that called this first to the present one.
uint32_t Forks();

// The one T of this process. A child has a T of its own: the parent's may be locked, or in the midst
// of a change. Never destroyed, because threads may use it after static destruction.
template <typename T>
T& PerProcess() {
  struct Slot {
    const uint32_t forks = Forks();
    T value;
  };
  static std::atomic<Slot*> current = nullptr;
  Slot* slot = current.load(std::memory_order_acquire);
  if (slot != nullptr && slot->forks == Forks()) return slot->value;
  auto* const made = new Slot;
  if (current.compare_exchange_strong(slot, made, std::memory_order_acq_rel)) return made->value;
  // Another thread was faster.
  delete made;
  return slot->value;
}

// Counts the calls of an object that are under way. Thread-safe.
class CallCount {
 public:
  // False, without counting, in a child that was forked while a call was under way: the object is
  // as the parent's threads left it, and they will not go on.
  bool Enter();
  void Leave() { word_.fetch_sub(1, std::memory_order_release); }

 private:
  // The forks before the process that called last (upper 32 bits), and the calls under way.
  std::atomic<uint64_t> word_ = uint64_t{Forks()} << 32;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_FORK_H_
