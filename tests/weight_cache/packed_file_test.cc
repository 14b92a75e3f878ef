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

std::shared_ptr<const ops::PackedMatrix> Packed(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 generator(seed);
  const Tensor weight = RandomFloats({rows, columns}, generator);
  return ops::PackedMatrix::Pack({weight.data<float>(), rows, columns, columns}).value();
}

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() {
    identity_ = cache::WritePackedFile(path_, kContent, matrices_).value();
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
  // The file ends with the panels of the longer key. An even number of rows makes them end at a
  // boundary, whatever the panel width of this machine.
  const cache::PackedMatrices matrices_ = {{{1, 2, 3}, Packed(6, 70, 1)}, {{}, Packed(33, 7, 2)}};
  FileIdentity identity_;
  std::string bytes_;
};

TEST_F(PackedFileTest, ReturnsTheWrittenMatrices) {
  for (const auto& trusted : {std::optional<FileIdentity>(), std::optional(identity_)}) {
    const cache::PackedFile file = cache::OpenPackedFile(path_, kContent, trusted)
                                       .value_or(cache::PackedFile{{}, FileIdentity()});
    EXPECT_EQ(file.identity, identity_);
    ASSERT_EQ(file.matrices.size(), matrices_.size());
    for (const auto& [key, matrix] : matrices_) {
      const ops::PackedMatrix& read = *file.matrices.at(key);
      EXPECT_EQ(read.rows(), matrix->rows());
      EXPECT_EQ(read.columns(), matrix->columns());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read.panel(0)) % 64, 0);
      const size_t size = matrix->panels().byte_size();
      ASSERT_EQ(read.panels().byte_size(), size);
      EXPECT_EQ(std::memcmp(read.panels().raw(), matrix->panels().raw(), size), 0);
    }
  }
}

TEST_F(PackedFileTest, AnyChangedByteIsDetected) {
  ASSERT_TRUE(Opens(bytes_));
  // Header, index and checksum have 7 + 13 + 1 words. Nobody reads the zeros between them and the
  // panels.
  constexpr size_t kHead = 168;
  constexpr size_t kPanels = 192;
  for (size_t i = 0; i < bytes_.size(); i += i < 256 ? 1 : 397) {
    if (i >= kHead && i < kPanels) continue;
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
  // Each row: words of the key, rows, columns and start of the first matrix, whose key is empty.
  const uint64_t lies[][4] = {{1000, 33, 7, 0},         {0, 1ULL << 40, 7, 0},  {0, 33, 0, 256},
                              {0, 33, 1ULL << 62, 256}, {0, 33, 7, 1ULL << 60}, {~0ULL, 33, 7, 256},
                              {0, 33, 1U << 30, 256}};
  const auto write = [&](const uint64_t* entry) {
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + kIndex * 8, entry, 4 * 8);
    uint64_t words = 0;
    std::memcpy(&words, bytes.data() + 6 * 8, 8);
    const size_t head = (kIndex + words) * 8;
    const uint64_t checksum = cache::Checksum::Of(absl::string_view(bytes).substr(0, head)).low;
    std::memcpy(bytes.data() + head, &checksum, 8);
    return bytes;
  };
  uint64_t truth[4];
  std::memcpy(truth, bytes_.data() + kIndex * 8, sizeof(truth));
  ASSERT_TRUE(Opens(write(truth)));
  for (const auto& lie : lies) EXPECT_FALSE(Opens(write(lie))) << lie[0] << " " << lie[1];
}

}  // namespace
}  // namespace attnrun::testing
