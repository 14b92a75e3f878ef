// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/scratch.h"

#include <cstddef>
#include <deque>

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

Scratch::Stack& Scratch::ThreadStack() {
  thread_local Stack stack;
  return stack;
}

Scratch::Scratch() : buffer_(ThreadStack().Lend()) {}

Scratch::~Scratch() { --ThreadStack().lent; }

}  // namespace attnrun::ops
