// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/packed_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "loader/model_maker.h"
#include "support/op_tester.h"
#include "weight_cache/checksum.h"

namespace attnrun::testing {
namespace {

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor Part(int64_t floats, uint32_t seed) {
  std::mt19937 generator(seed);
  return RandomFloats({floats}, generator);
}

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() {
    identity_ = cache::WritePackedFile(path_, kContent, weights_).value();
    bytes_ = ReadBytes(path_);
  }

  // True if a file of these bytes is accepted in place of the one written before.
  bool Opens(const std::string& bytes) const {
    const std::string path = folder_.Write("other", bytes);
    return cache::OpenPackedFile(path, kContent, identity_).has_value();
  }

  static constexpr cache::ContentHash kContent = {1, 2, 3};
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("packed");
  // The file ends with the part of the longer key, which ends at a boundary.
  const cache::PackedWeights weights_ = {{{1, 2, 3}, {9, {Part(32 * 70, 1)}}},
                                         {{}, {8, {Part(33, 2), Part(7, 3)}}}};
  FileIdentity identity_;
  std::string bytes_;
};

TEST_F(PackedFileTest, ReturnsTheWrittenWeights) {
  for (const auto& trusted : {std::optional<FileIdentity>(), std::optional(identity_)}) {
    const cache::PackedFile file = cache::OpenPackedFile(path_, kContent, trusted)
                                       .value_or(cache::PackedFile{{}, FileIdentity()});
    EXPECT_EQ(file.identity, identity_);
    ASSERT_EQ(file.weights.size(), weights_.size());
    for (const auto& [key, weight] : weights_) {
      const ops::PackedBytes& read = file.weights.at(key);
      EXPECT_EQ(read.facts, weight.facts);
      ASSERT_EQ(read.parts.size(), weight.parts.size());
      for (size_t i = 0; i < read.parts.size(); ++i) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(read.parts[i].raw()) % 64, 0);
        const size_t size = weight.parts[i].byte_size();
        ASSERT_EQ(read.parts[i].byte_size(), size);
        EXPECT_EQ(std::memcmp(read.parts[i].raw(), weight.parts[i].raw(), size), 0);
      }
    }
  }
}

TEST_F(PackedFileTest, HoldsPartsInTheSameMemoryOnce) {
  cache::PackedWeights twice = weights_;
  twice[{4}] = weights_.at({1, 2, 3});
  const std::string path = folder_.path("twice");
  ASSERT_TRUE(cache::WritePackedFile(path, kContent, twice).ok());
  EXPECT_EQ(ReadBytes(path).size(), bytes_.size() + 64);
  const auto file = cache::OpenPackedFile(path, kContent, std::nullopt);
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(file->weights.size(), 3);
  EXPECT_EQ(file->weights.at({4}).parts[0].raw(), file->weights.at({1, 2, 3}).parts[0].raw());
}

TEST_F(PackedFileTest, AnyChangedByteIsDetected) {
  ASSERT_TRUE(Opens(bytes_));
  // Header, index and checksum have 7 + 9 + 9 + 1 words. Nobody reads the zeros behind them and
  // behind the parts of the first weight.
  constexpr size_t kHead = 208;
  constexpr size_t kParts = 512;
  for (size_t i = 0; i < bytes_.size(); i += i < 512 ? 1 : 397) {
    if (i >= kHead && i < kParts) continue;
    std::string changed = bytes_;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_FALSE(Opens(changed)) << i;
  }
}

TEST_F(PackedFileTest, AnyMissingByteIsDetected) {
  for (size_t size = 0; size < bytes_.size(); size += size < 256 ? 1 : 397) {
    EXPECT_FALSE(Opens(bytes_.substr(0, size))) << size;
  }
  EXPECT_FALSE(Opens(bytes_.substr(0, bytes_.size() - 1)));
}

TEST_F(PackedFileTest, OtherContentsAndOtherFilesAreRefused) {
  EXPECT_FALSE(cache::OpenPackedFile(path_, {1, 2, 4}, identity_).has_value());
  EXPECT_FALSE(cache::OpenPackedFile(path_, {1, 3, 3}, identity_).has_value());
  EXPECT_FALSE(cache::OpenPackedFile(folder_.path("none"), kContent, identity_).has_value());
  EXPECT_FALSE(cache::OpenPackedFile(folder_.path("."), kContent, identity_).has_value());
  EXPECT_FALSE(Opens(std::string(100000, 'x')));
}

// Malicious index entries under valid checksums.
TEST_F(PackedFileTest, AnIndexBeyondTheFileIsRefused) {
  constexpr size_t kIndex = 7;
  // Each row: words of the key, facts, parts, start and size of the first part of the first weight,
  // whose key is empty.
  const uint64_t lies[][5] = {
      {1000, 8, 2, 256, 132},     {~0ULL, 8, 2, 256, 132}, {0, 8, 3, 256, 132},
      {0, 8, ~0ULL, 256, 132},    {0, 8, 2, 257, 132},     {0, 8, 2, 1ULL << 60, 132},
      {0, 8, 2, 256, 1ULL << 62}, {0, 8, 2, 256, ~0ULL},   {0, 8, 2, 256, 1U << 30}};
  const auto write = [&](const uint64_t* entry) {
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + kIndex * 8, entry, 5 * 8);
    uint64_t words = 0;
    std::memcpy(&words, bytes.data() + 6 * 8, 8);
    const size_t head = (kIndex + words) * 8;
    const uint64_t checksum = cache::Checksum::Of(absl::string_view(bytes).substr(0, head)).low;
    std::memcpy(bytes.data() + head, &checksum, 8);
    return bytes;
  };
  uint64_t truth[5];
  std::memcpy(truth, bytes_.data() + kIndex * 8, sizeof(truth));
  ASSERT_TRUE(Opens(write(truth)));
  for (const auto& lie : lies)
    EXPECT_FALSE(Opens(write(lie))) << lie[0] << " " << lie[2] << " " << lie[3];
}

}  // namespace
}  // namespace attnrun::testing
