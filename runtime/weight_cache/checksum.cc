#include "weight_cache/checksum.h"

#include <nmmintrin.h>

#include <array>
#include <bit>
#include <cstring>

namespace attnrun {
namespace {

// Each step waits for the one before: eight sums of every eighth word hide that.
constexpr size_t kLanes = 8;
using Words = std::array<uint64_t, kLanes>;

// Multiplications carry upwards, rotations bring high bits down.
uint64_t Mix(uint64_t sum, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  return std::rotl(sum ^ word, 29) * kOdd;
}

struct Lanes {
  Words crc = {1, 2, 3, 4, 5, 6, 7, 8};
  Words mix = {1, 2, 3, 4, 5, 6, 7, 8};

  void Add(const Words& words) {
    for (size_t i = 0; i < kLanes; ++i) {
      crc[i] = _mm_crc32_u64(crc[i], words[i]);
      mix[i] = Mix(mix[i], words[i]);
    }
  }
};

}  // namespace

// Abseil's CRC is none of the processor's where the system's packages run on any x86-64, and takes
// ten times as long.
Checksum Checksum::Of(absl::string_view bytes) {
  Lanes lanes;
  Words words;
  const size_t whole = bytes.size() / sizeof(words) * sizeof(words);
  for (size_t i = 0; i < whole; i += sizeof(words)) {
    std::memcpy(words.data(), bytes.data() + i, sizeof(words));
    lanes.Add(words);
  }
  words.fill(0);
  if (whole < bytes.size()) {
    std::memcpy(words.data(), bytes.data() + whole, bytes.size() - whole);
  }
  lanes.Add(words);
  // How many of the last bytes count.
  Checksum sum{bytes.size() & 0xffffffff, bytes.size()};
  for (size_t i = 0; i < kLanes; ++i) {
    sum.crc = _mm_crc32_u64(sum.crc, lanes.crc[i]);
    sum.mix = Mix(sum.mix, lanes.mix[i]);
  }
  sum.mix ^= sum.mix >> 32;
  return sum;
}

}  // namespace attnrun
