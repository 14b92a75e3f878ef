// SPDX-License-Identifier: Apache-2.0
#include "core/file_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace attnrun {
namespace {

constexpr size_t kSize = size_t{8} << 20;

// The number of bytes of mapped files that this process has in memory.
size_t ResidentFileBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    size_t kilobytes = 0;
    if (key == "RssFile:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// Maps a file of kSize bytes.
class FilePagesTest : public ::testing::Test {
 protected:
  FilePagesTest() {
    std::FILE* file = std::tmpfile();
    const std::vector<unsigned char> bytes(kSize, 7);
    std::fwrite(bytes.data(), 1, kSize, file);
    std::fflush(file);
    data_ = static_cast<const unsigned char*>(
        mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, fileno(file), 0));
    std::fclose(file);
  }
  ~FilePagesTest() override { munmap(const_cast<unsigned char*>(data_), kSize); }

  size_t ReadAll() const { return std::accumulate(data_, data_ + kSize, size_t{0}); }

  const unsigned char* data_ = nullptr;
};

TEST_F(FilePagesTest, ReleasedPagesLeaveMemoryAndComeBack) {
  AddFileMap(data_, kSize);
  ASSERT_EQ(ReadAll(), 7 * kSize);
  const size_t before = ResidentFileBytes();
  // Only whole pages are released; the first and the last page of this range are partial.
  ReleaseFilePages(data_ + 100, kSize - 200);
  EXPECT_GE(before - ResidentFileBytes(), kSize * 9 / 10);
  EXPECT_EQ(ReadAll(), 7 * kSize);
  RemoveFileMap(data_);
}

TEST_F(FilePagesTest, OtherMemoryIsLeftAlone) {
  std::vector<unsigned char> heap(kSize, 9);
  ReleaseFilePages(heap.data(), kSize);
  AddFileMap(data_, kSize / 2);
  ReleaseFilePages(heap.data(), kSize);
  EXPECT_EQ(std::accumulate(heap.begin(), heap.end(), size_t{0}), 9 * kSize);

  ASSERT_EQ(ReadAll(), 7 * kSize);
  const size_t before = ResidentFileBytes();
  // The range reaches beyond the end of the map.
  ReleaseFilePages(data_ + kSize / 4, kSize / 2);
  RemoveFileMap(data_);
  ReleaseFilePages(data_, kSize / 2);
  EXPECT_GE(ResidentFileBytes() + kSize / 10, before);
}

}  // namespace
}  // namespace attnrun
