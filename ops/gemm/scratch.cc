// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/scratch.h"

#include <pthread.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <new>

namespace attnrun::ops {

// The buffers of one thread, of which the first `lent` are in use. A deque does not move them.
struct Scratch::Stack {
  std::deque<Buffer> buffers;
  size_t lent = 0;

  Buffer& Lend() {
    if (lent == buffers.size()) buffers.emplace_back();
    return buffers[lent++];
  }
};

void Scratch::Buffer::Grow(int64_t bytes) {
  size = 0;
  memory = hwy::AllocateAligned<uint8_t>(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  size = bytes;
}

// The C library ends the process if it has no memory to note the destructor of a thread's
// own object. A key needs none.
Scratch::Stack& Scratch::ThreadStack() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const auto destroy = [](void* stack) { delete static_cast<Stack*>(stack); };
    if (pthread_key_create(&made, destroy) != 0) throw std::bad_alloc();
    return made;
  }();
  thread_local Stack* stack = nullptr;
  if (stack == nullptr) {
    auto made = std::make_unique<Stack>();
    if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
    stack = made.release();
  }
  return *stack;
}

Scratch::Scratch() : buffer_(ThreadStack().Lend()) {}

Scratch::~Scratch() { --ThreadStack().lent; }

}  // namespace attnrun::ops
