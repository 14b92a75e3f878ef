// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without a fuzzer: on the files named, and on random bytes that its own
// mutator, if it has one, changes. So any compiler builds the targets, and tests show that they
// work.
//
//   fuzz_TARGET_replay [ROUNDS] FILE...
#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "fuzz/targets/target.h"

// A target defines these or not.
extern "C" [[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most,
                                                        unsigned seed);

namespace {

constexpr size_t kMost = 1 << 14;

std::mt19937& Random() {
  static auto& random = *new std::mt19937(1);
  return random;
}

void Run(const std::vector<uint8_t>& bytes) { LLVMFuzzerTestOneInput(bytes.data(), bytes.size()); }

std::vector<uint8_t> Changed(std::vector<uint8_t> bytes, unsigned seed) {
  const size_t size = bytes.size();
  bytes.resize(std::max(kMost, size));
  bytes.resize(LLVMFuzzerCustomMutator != nullptr
                   ? LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed)
                   : LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
  return bytes;
}

}  // namespace

// Some new bytes behind the old ones, and some changed.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most) {
  const size_t longer = std::min(most, size + Random()() % 16);
  for (size_t i = size; i < longer; ++i) data[i] = static_cast<uint8_t>(Random()());
  if (longer > 0) data[Random()() % longer] = static_cast<uint8_t>(Random()());
  return longer;
}

int main(int count, char** arguments) {
  int rounds = 0;
  std::vector<std::vector<uint8_t>> seeds;
  for (int i = 1; i < count; ++i) {
    if (absl::SimpleAtoi(arguments[i], &rounds)) continue;
    std::ifstream file(arguments[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    Run(seeds.back());
  }
  if (seeds.empty()) seeds.emplace_back();
  for (int i = 0; i < rounds; ++i) {
    std::vector<uint8_t>& seed = seeds[Random()() % seeds.size()];
    seed = Changed(seed, Random()());
    Run(seed);
  }
  return 0;
}
