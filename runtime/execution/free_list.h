// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_FREE_LIST_H_
#define ATTNRUN_EXECUTION_FREE_LIST_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace attnrun::exec {

// Memory for objects of one size. It is kept for the next objects when it is given back, so that a
// run of the same steps as the run before allocates nothing. Thread-safe.
class FreeList {
 public:
  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;
  ~FreeList() {
    while (first_ != nullptr) ::operator delete(std::exchange(first_, first_->next), alignment_);
  }

  // Size and alignment are the same in all calls.
  void* Take(size_t size, std::align_val_t alignment) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (first_ != nullptr) {
        --kept_;
        return std::exchange(first_, first_->next);
      }
      alignment_ = alignment;
    }
    return ::operator new(size, alignment);
  }

  void Give(void* memory) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (kept_ < kMostKept) {
        first_ = new (memory) Piece{first_};
        ++kept_;
        return;
      }
    }
    ::operator delete(memory, alignment_);
  }

 private:
  static constexpr size_t kMostKept = 1024;

  struct Piece {
    Piece* next;
  };

  std::mutex mutex_;
  Piece* first_ = nullptr;
  size_t kept_ = 0;
  std::align_val_t alignment_{};
};

// For std::allocate_shared: takes the memory of one object from a list.
template <typename T>
class FromFreeList {
 public:
  using value_type = T;

  explicit FromFreeList(std::shared_ptr<FreeList> list) : list_(std::move(list)) {}
  // Implicit, as allocators for other types become each other.
  template <typename U>
  FromFreeList(const FromFreeList<U>& other) : list_(other.list()) {}  // NOLINT(*-explicit-*)

  T* allocate(size_t /*one*/) {
    return static_cast<T*>(list_->Take(sizeof(T), std::align_val_t{alignof(T)}));
  }
  void deallocate(T* memory, size_t /*one*/) { list_->Give(memory); }

  const std::shared_ptr<FreeList>& list() const { return list_; }
  friend bool operator==(const FromFreeList& a, const FromFreeList& b) {
    return a.list_ == b.list_;
  }

 private:
  std::shared_ptr<FreeList> list_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_FREE_LIST_H_
