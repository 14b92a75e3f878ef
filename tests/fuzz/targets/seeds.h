// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_SEEDS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_SEEDS_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace attnrun::testing {

// Writes inputs of a target, from which fuzzing starts. Each file <target>_seeds.cc defines it.
void WriteSeeds(const std::filesystem::path& folder);

inline void WriteSeed(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string ReadSeed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_SEEDS_H_
