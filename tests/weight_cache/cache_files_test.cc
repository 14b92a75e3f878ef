// SPDX-License-Identifier: Apache-2.0
#include "weight_cache/cache_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "loader/model_maker.h"
#include "weight_cache/source_stamp.h"

namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

class SweepCacheTest : public ::testing::Test {
 protected:
  // Makes all cache files look two hours old.
  void Age() const {
    for (const auto& entry : fs::directory_iterator(folder_.path("cache"))) {
      const struct timespec past = {time(nullptr) - 7200, 0};
      const struct timespec times[2] = {past, past};
      ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
  }

  // Records a model with a packed file. `content` distinguishes contents.
  cache::SourceStamp See(const std::string& model, uint64_t content) const {
    struct stat status = {};
    EXPECT_EQ(stat(model.c_str(), &status), 0);
    cache::SourceStamp stamp = {.path = model,
                                .files = {FileIdentity::Of(status)},
                                .settled = true,
                                .content = {content, content, content},
                                .panel_width = 16,
                                .packed = {}};
    folder_.Write("cache/" + stamp.PackedFileName(), "panels");
    EXPECT_TRUE(cache::WriteSourceStamp(folder_.path("cache/" + stamp.FileName()), stamp).ok());
    return stamp;
  }

  std::vector<std::string> Left() const {
    cache::SweepCache(folder_.path("cache"));
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path("cache"))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(SweepCacheTest, OldContentsOfAModelAreRemoved) {
  const std::string model = folder_.Write("m.onnx", "");
  See(model, 1);
  const cache::SourceStamp now = See(model, 2);
  EXPECT_EQ(Left().size(), 3) << "a writer may be about to refer to files this new";
  Age();
  EXPECT_THAT(Left(), UnorderedElementsAre(now.FileName(), now.PackedFileName()));
}

TEST_F(SweepCacheTest, ContentsOfAnotherModelStay) {
  const std::string model = folder_.Write("m.onnx", "");
  const cache::SourceStamp copy = See(folder_.Write("copy.onnx", ""), 1);
  See(model, 1);
  const cache::SourceStamp now = See(model, 2);
  Age();
  EXPECT_THAT(Left(), UnorderedElementsAre(copy.FileName(), copy.PackedFileName(), now.FileName(),
                                           now.PackedFileName()));
}

TEST_F(SweepCacheTest, FilesOfDeletedModelsAreRemoved) {
  const cache::SourceStamp stays = See(folder_.Write("m.onnx", ""), 1);
  const std::string model = folder_.Write("deleted.onnx", "");
  See(model, 2);
  fs::remove(model);
  EXPECT_EQ(Left().size(), 4) << "files this new are kept, too";
  Age();
  EXPECT_THAT(Left(), UnorderedElementsAre(stays.FileName(), stays.PackedFileName()));
}

TEST_F(SweepCacheTest, FilesOfUnreachableModelsStay) {
  // The model is on an unmounted volume: its folder is missing or belongs to another device.
  const std::string model = folder_.Write("volume/m.onnx", "");
  const cache::SourceStamp unmounted = See(model, 1);
  fs::remove_all(folder_.path("volume"));
  cache::SourceStamp other = See(folder_.Write("m.onnx", ""), 2);
  fs::remove(folder_.path("cache/" + other.FileName()));
  other.path = folder_.path("nobody.onnx");
  other.files[0].device += 1;
  ASSERT_TRUE(cache::WriteSourceStamp(folder_.path("cache/" + other.FileName()), other).ok());
  Age();
  EXPECT_THAT(Left(), UnorderedElementsAre(unmounted.FileName(), unmounted.PackedFileName(),
                                           other.FileName(), other.PackedFileName()));
}

TEST_F(SweepCacheTest, UnfinishedFilesAreRemovedAndForeignFilesStay) {
  folder_.Write("cache/attnrun-1-w16.packed.abc.tmp", "");
  folder_.Write("cache/work.tmp", "");
  folder_.Write("cache/other.packed", "");
  folder_.Write("cache/attnrun-notes", "");
  EXPECT_EQ(Left().size(), 4) << "its writer may still be running";
  Age();
  EXPECT_THAT(Left(), UnorderedElementsAre("work.tmp", "other.packed", "attnrun-notes"));
}

TEST_F(SweepCacheTest, AMissingFolderIsIgnored) {
  cache::SweepCache(folder_.path("nowhere"));
  EXPECT_FALSE(fs::exists(folder_.path("nowhere")));
}

}  // namespace
}  // namespace attnrun::testing
