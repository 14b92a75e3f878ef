// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_CHOICES_H_
#define ATTNRUN_TESTS_FUZZ_CHOICES_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace attnrun::testing {

// Picks items by the numbers that Source::Int gives.
template <typename Source>
class Picks {
  friend Source;
  Picks() = default;

 public:
  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[static_cast<Source*>(this)->Int(0, static_cast<int64_t>(items.size()) - 1)];
  }
  template <typename T>
  T Of(std::initializer_list<T> items) {
    return Pick(std::vector<T>(items));
  }
};

// The choices that a fuzzer's bytes make, read from front to back. Once the bytes are used up, each
// choice is the first one.
class Choices : public Picks<Choices> {
 public:
  explicit Choices(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }

  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_.remove_prefix(1);
    return byte;
  }

  // A number of [low, high], from as few bytes as can express all of them.
  int64_t Int(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    uint64_t number = 0;
    for (uint64_t left = span; left > 0; left >>= 8) number = number << 8 | Byte();
    if (span + 1 != 0) number %= span + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(low) + number);
  }

  // True for one choice in `count`.
  bool OneIn(int64_t count) { return Int(0, count - 1) == count - 1; }

  // Up to `most` bytes, their number first.
  std::string Text(size_t most) {
    std::string text;
    for (int64_t left = Int(0, static_cast<int64_t>(most)); left > 0 && !empty(); --left) {
      text.push_back(static_cast<char>(Byte()));
    }
    return text;
  }

  // All bytes that are left.
  absl::Span<const uint8_t> Rest() { return std::exchange(bytes_, {}); }

 private:
  absl::Span<const uint8_t> bytes_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_CHOICES_H_
