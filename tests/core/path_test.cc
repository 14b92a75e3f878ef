// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "support/temporary_folder.h"

namespace attnrun::testing {
namespace {

using ::testing::IsSupersetOf;

TEST(PathTest, HasAFolderAndAName) {
  struct Case {
    const char *path, *folder, *name;
  };
  for (const auto& [path, folder, name] :
       {Case{"a/b.onnx", "a", "b.onnx"}, Case{"b", ".", "b"}, Case{"/b", "/", "b"},
        Case{"a//b", "a", "b"}, Case{"//b", "/", "b"}, Case{"/a/b/", "/a/b", ""},
        Case{"", ".", ""}}) {
    EXPECT_EQ(FolderOf(path), folder) << path;
    EXPECT_EQ(FileName(path), name) << path;
  }
}

TEST(PathTest, NormalPathsHaveNoDotsBehindNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"a//b/./c/", "a/b/c"}, {"a/..", "."},          {"", "."},  {"a/../../b", "../b"},
      {"../../a", "../../a"}, {"/../a/../b", "/b"},   {"/", "/"}, {"a/b/../c", "a/c"},
      {"..a/b", "..a/b"},     {"../a/../..", "../.."}};
  for (const auto& [path, normal] : cases) EXPECT_EQ(Normal(path), normal) << path;
}

TEST(PathTest, AnAbsolutePathBeginsInTheWorkingFolder) {
  const std::string here = RealPath(".").value();
  EXPECT_EQ(AbsolutePath("a/../b"), here + "/a/../b");
  EXPECT_EQ(AbsolutePath("/a/../b"), "/a/../b");
  EXPECT_EQ(Normal(AbsolutePath(".")), here);
}

TEST(PathTest, FilesAndFoldersAreFound) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("file", "x");
  ASSERT_EQ(symlink(file.c_str(), folder.path("link").c_str()), 0);
  EXPECT_TRUE(IsFile(file));
  EXPECT_TRUE(IsFile(folder.path("link")));
  EXPECT_FALSE(IsFile(folder.path("")));
  EXPECT_TRUE(IsFolder(folder.path("")));
  EXPECT_FALSE(IsFolder(file));
  EXPECT_EQ(RealPath(folder.path("link")), RealPath(file));
  EXPECT_EQ(RealPath(folder.path("none")), std::nullopt);
  EXPECT_THAT(NamesIn(folder.path("")), IsSupersetOf({"file", "link"}));
  EXPECT_TRUE(NamesIn(folder.path("none")).empty());
}

TEST(PathTest, FoldersAreMadeAsFarAsTheyDoNotExist) {
  const TemporaryFolder folder;
  EXPECT_EQ(MakeFolders(folder.path("a/b/c/")), 0);
  EXPECT_EQ(MakeFolders(folder.path("a/b/c")), 0);
  EXPECT_TRUE(IsFolder(folder.path("a/b/c")));
  folder.Write("file", "x");
  EXPECT_EQ(MakeFolders(folder.path("file/d")), ENOTDIR);
  EXPECT_EQ(MakeFolders(folder.path("file")), ENOTDIR);
}

}  // namespace
}  // namespace attnrun::testing
