// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/source_stamp.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "loader/model_maker.h"
#include "weight_cache/replace_file.h"

namespace attnrun::testing {
namespace {

const cache::SourceStamp kStamp = {.path = "/models/of nine.onnx",
                                   .files = {{1, 2, 3, 4}, {5, 6, 7, 8}},
                                   .settled = true,
                                   .content = {9, 10, 11},
                                   .panel_width = 16,
                                   .packed = {12, 13, 14, 15}};

TEST(SourceStampTest, RoundTrips) {
  const TemporaryFolder folder;
  const std::string path = folder.path("seen");
  EXPECT_FALSE(cache::ReadSourceStamp(path).has_value());
  ASSERT_TRUE(cache::WriteSourceStamp(path, kStamp).ok());
  EXPECT_EQ(cache::ReadSourceStamp(path), kStamp);
}

TEST(SourceStampTest, FilesAreNamedByPathAndByContents) {
  cache::SourceStamp other = kStamp;
  other.path = "/models/other.onnx";
  EXPECT_NE(other.FileName(), kStamp.FileName());
  EXPECT_EQ(other.PackedFileName(), kStamp.PackedFileName());
  other = kStamp;
  other.content.high = 12;
  other.files[0].inode = 99;
  EXPECT_EQ(other.FileName(), kStamp.FileName());
  EXPECT_NE(other.PackedFileName(), kStamp.PackedFileName());
  // Another machine, with another panel width, shares the directory.
  other = kStamp;
  other.panel_width = 48;
  EXPECT_NE(other.FileName(), kStamp.FileName());
  EXPECT_NE(other.PackedFileName(), kStamp.PackedFileName());
}

TEST(SourceStampTest, DamagedFilesAreIgnored) {
  const TemporaryFolder folder;
  const std::string path = folder.path("seen");
  ASSERT_TRUE(cache::WriteSourceStamp(path, kStamp).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(cache::ReadSourceStamp(folder.Write("changed", changed)).has_value()) << i;
    EXPECT_FALSE(cache::ReadSourceStamp(folder.Write("short", bytes.substr(0, i))).has_value())
        << i;
  }
}

TEST(ReplaceFileTest, ReadersOfTheOldFileKeepIt) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "old");
  std::ifstream old(path);
  ASSERT_TRUE(cache::ReplaceFile(path, {"n", "", "ew"}).ok());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(old), {}), "old");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "new");
}

TEST(ReplaceFileTest, ErrorsNameTheFileAndLeaveNothingBehind) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("file", "");
  EXPECT_TRUE(
      absl::StrContains(cache::ReplaceFile(file + "/inside", {"x"}).status().message(), file));
  // A file cannot take the name of a folder.
  folder.Write("taken/file", "");
  EXPECT_TRUE(absl::StrContains(cache::ReplaceFile(folder.path("taken"), {"x"}).status().message(),
                                "taken' cannot be written"));
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("."))) {
    count += entry.path().filename() != "file" && entry.path().filename() != "taken";
  }
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace attnrun::testing
