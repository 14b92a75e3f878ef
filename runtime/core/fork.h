// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_FORK_H_
#define ATTNRUN_CORE_FORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace attnrun {

// A child made by fork() has only the thread that forked. Locks that other threads of the parent
// held stay locked in it, and threads that slept are not there to be woken.

// The number of forks from the process that called this first to the present one.
uint32_t Forks();

// A T for each process. A child has a T of its own: the parent's may be locked, or in the midst of
// a change, so the child leaves it alone. Thread-safe.
template <typename T>
class ForkLocal {
 public:
  ForkLocal() = default;
  ~ForkLocal() {
    const Slot* slot = current_.load(std::memory_order_acquire);
    if (slot != nullptr && slot->forks == Forks()) delete slot;
  }
  ForkLocal(const ForkLocal&) = delete;
  ForkLocal& operator=(const ForkLocal&) = delete;

  // The T of this process; null if it has none.
  T* Find() const {
    Slot* const slot = current_.load(std::memory_order_acquire);
    return slot != nullptr && slot->forks == Forks() ? &slot->value : nullptr;
  }

  // Makes the T from `arguments` if this process has none.
  template <typename... Arguments>
  T& Get(const Arguments&... arguments) {
    Slot* slot = current_.load(std::memory_order_acquire);
    if (slot != nullptr && slot->forks == Forks()) return slot->value;
    auto* const made = new Slot(arguments...);
    if (current_.compare_exchange_strong(slot, made, std::memory_order_acq_rel)) return made->value;
    // Another thread was faster.
    delete made;
    return slot->value;
  }

 private:
  struct Slot {
    template <typename... Arguments>
    explicit Slot(const Arguments&... arguments) : value(arguments...) {}

    const uint32_t forks = Forks();
    T value;
  };

  std::atomic<Slot*> current_ = nullptr;
};

// The one T of this process. Never destroyed, because threads may use it after static destruction.
template <typename T>
T& PerProcess() {
  alignas(ForkLocal<T>) static std::byte place[sizeof(ForkLocal<T>)];
  static auto* const local = new (place) ForkLocal<T>;
  return local->Get();
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
