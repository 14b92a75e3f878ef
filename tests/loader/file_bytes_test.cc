// SPDX-License-Identifier: Apache-2.0
#include "core/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "loader/model_maker.h"

namespace attnrun {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class FileBytesTest : public ::testing::TestWithParam<FileAccess> {
 protected:
  const TemporaryFolder folder_;
};

TEST_P(FileBytesTest, HoldsTheWholeFile) {
  std::string expected(100'000, 'a');
  expected.back() = 'z';
  const auto file = FileBytes::Open(folder_.Write("file", expected), GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->bytes(), expected);
  EXPECT_EQ((*file)->identity().size, expected.size());
}

TEST_P(FileBytesTest, AnEmptyFileHasNoBytes) {
  const auto file = FileBytes::Open(folder_.Write("file", ""), GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_P(FileBytesTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(FileBytes::Open(folder_.path("none"), GetParam()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FileBytes::Open(folder_.path(""), GetParam()).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(FileBytes::Open(pipe, GetParam()).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Access, FileBytesTest,
                         ::testing::Values(FileAccess::kMap, FileAccess::kRead));

TEST(FileBytesCopyTest, OutlivesTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(100'000, 'a'));
  const auto file = FileBytes::Open(path, FileAccess::kRead);
  ASSERT_TRUE(file.ok()) << file.status();
  fs::resize_file(path, 10);
  EXPECT_EQ((*file)->bytes(), std::string(100'000, 'a'));
  fs::remove(path);
  EXPECT_EQ((*file)->bytes(), std::string(100'000, 'a'));
}

}  // namespace
}  // namespace attnrun
