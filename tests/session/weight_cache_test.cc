// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>

#include "absl/strings/match.h"
#include "attnrun/session.h"
#include "loader/model_maker.h"

// Tests of SessionOptions::weight_cache.
namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 60;

std::string Floats(float first) {
  std::string raw(kWidth * kWidth * sizeof(float), '\0');
  for (int64_t i = 0; i < kWidth * kWidth; ++i) {
    const float element = first + static_cast<float>(i % 7);
    std::memcpy(raw.data() + i * sizeof(float), &element, sizeof(float));
  }
  return raw;
}

// y = x·W·V. If `external`, V lies in the file "data".
onnx::ModelProto TwoProducts(float w, bool external = false) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, kWidth});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, kWidth});
  const std::vector<int64_t> shape = {kWidth, kWidth};
  *graph->add_initializer() = RawTensor("W", onnx::TensorProto::FLOAT, shape, Floats(w));
  onnx::TensorProto& v = *graph->add_initializer();
  v = RawTensor("V", onnx::TensorProto::FLOAT, shape, external ? "" : Floats(2));
  if (external) {
    v.clear_raw_data();
    v.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* location = v.add_external_data();
    location->set_key("location");
    location->set_value("data");
  }
  AddNode(graph, "MatMul", {"x", "W"}, {"p"}, "first");
  AddNode(graph, "MatMul", {"p", "V"}, {"y"}, "second");
  return model;
}

// Sets an old modification time, because the cache does not remember files that are too new.
void Age(const std::string& path, int64_t seconds = 1'000'000'000) {
  const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class WeightCacheTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const onnx::ModelProto& model) const {
    std::string path = folder_.Write(name, model.SerializeAsString());
    Age(path);
    return path;
  }

  absl::StatusOr<Session> Load(const std::string& path, SessionOptions options = {}) const {
    options.weight_cache = folder_.path("cache");
    return Session::Load(path, options);
  }

  // The sum of the elements of y for an x of ones.
  static double SumOf(const absl::StatusOr<Session>& session) {
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return 0;
    TensorMap inputs;
    inputs["x"] = *Tensor::Of<float>({1, kWidth}, std::vector<float>(kWidth, 1));
    const Tensor y = session->Run(inputs)->at("y");
    return std::accumulate(y.data<float>(), y.data<float>() + kWidth, 0.0);
  }
  double Run(const std::string& path) const { return SumOf(Load(path)); }
  static double RunWithout(const std::string& path) { return SumOf(Session::Load(path)); }

  // The cache files of this kind by name, with their inodes.
  std::map<std::string, ino_t> Files(const std::string& kind) const {
    std::map<std::string, ino_t> files;
    if (!fs::exists(folder_.path("cache"))) return files;
    for (const auto& entry : fs::directory_iterator(folder_.path("cache"))) {
      struct stat status = {};
      EXPECT_EQ(stat(entry.path().c_str(), &status), 0);
      if (absl::EndsWith(entry.path().string(), kind)) files[entry.path()] = status.st_ino;
    }
    return files;
  }
  std::string Packed() const {
    const auto files = Files(".packed");
    EXPECT_EQ(files.size(), 1);
    return files.empty() ? "" : files.begin()->first;
  }

  // Scribbles and puts the file's times back, so that nothing tells of the change.
  static void Rot(const std::string& path) {
    struct stat before = {};
    ASSERT_EQ(stat(path.c_str(), &before), 0);
    Scribble(path);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  // Overwrites elements near the end of a file in place.
  static void Scribble(const std::string& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-static_cast<std::streamoff>(kWidth * kWidth * sizeof(float) / 2), std::ios::end);
    const std::string garbage(1000, 'A');
    file << garbage;
  }

  const TemporaryFolder folder_;
};

TEST_F(WeightCacheTest, TheSecondStartMapsThePackedFileOfTheFirst) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  const double expected = RunWithout(model);
  EXPECT_EQ(Run(model), expected);
  const auto packed = Files(".packed");
  EXPECT_EQ(packed.size(), 1);
  EXPECT_EQ(Files(".seen").size(), 1);
  EXPECT_TRUE(Files(".tmp").empty());
  EXPECT_EQ(Run(model), expected);
  EXPECT_EQ(Files(".packed"), packed);
  // The session really reads the file: other panels, which nothing else reveals, change the result.
  Rot(Packed());
  EXPECT_NE(Run(model), expected);
}

TEST_F(WeightCacheTest, VerifyingFindsDamageThatNoTimeTellsOf) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  const double expected = Run(model);
  SessionOptions verify;
  verify.verify_weight_cache = true;
  const auto intact = Files(".packed");
  EXPECT_EQ(SumOf(Load(model, verify)), expected);
  EXPECT_EQ(Files(".packed"), intact) << "it is intact, so it is not written again";
  Rot(Packed());
  EXPECT_EQ(SumOf(Load(model, verify)), expected);
  EXPECT_EQ(Run(model), expected) << "the damaged file was replaced";
  // The model's own file, whose contents name the packed file.
  Rot(model);
  EXPECT_EQ(SumOf(Load(model, verify)), RunWithout(model));
}

TEST_F(WeightCacheTest, DamagedFilesAreReplaced) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  const double expected = Run(model);
  const std::string packed = Packed();
  const std::function<void()> damages[] = {
      [&] { Scribble(packed); },
      [&] { fs::resize_file(packed, fs::file_size(packed) / 2); },
      [&] { fs::resize_file(packed, 0); },
      [&] { std::ofstream(packed) << "not packed"; },
      [&] { fs::remove(packed); },
      [&] {
        fs::resize_file(Files(".seen").begin()->first, 20);
        Scribble(packed);
      },
  };
  for (const auto& damage : damages) {
    damage();
    EXPECT_EQ(Run(model), expected);
    const auto files = Files(".packed");
    EXPECT_EQ(Run(model), expected);
    EXPECT_EQ(Files(".packed"), files) << "it is intact, so it is not written again";
  }
}

TEST_F(WeightCacheTest, FilesAreIdentifiedByTheirContents) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  const double expected = Run(model);
  // A touched or copied file has the same contents.
  Age(model, 1'100'000'000);
  EXPECT_EQ(Run(model), expected);
  EXPECT_EQ(Run(Write("copy.onnx", TwoProducts(1))), expected);
  EXPECT_EQ(Files(".packed").size(), 1);
  EXPECT_EQ(Files(".seen").size(), 2);
  // Other weights in the same file at the same places.
  std::ofstream(model, std::ios::binary) << TwoProducts(1.5F).SerializeAsString();
  Age(model, 1'200'000'000);
  EXPECT_EQ(Run(model), RunWithout(model));
  EXPECT_NE(Run(model), expected);
  EXPECT_EQ(Files(".packed").size(), 2);
}

TEST_F(WeightCacheTest, ExternalDataIsPartOfTheContents) {
  const std::string data = folder_.Write("data", Floats(3));
  Age(data);
  const std::string model = Write("m.onnx", TwoProducts(1, /*external=*/true));
  const double expected = Run(model);
  EXPECT_EQ(Run(model), expected);
  EXPECT_EQ(Files(".packed").size(), 1);
  folder_.Write("data", Floats(4));
  Age(data, 1'100'000'000);
  EXPECT_EQ(Run(model), RunWithout(model));
  EXPECT_NE(Run(model), expected);
}

TEST_F(WeightCacheTest, AFileThatMayStillChangeIsReadAgain) {
  const std::string model = folder_.Write("m.onnx", TwoProducts(1).SerializeAsString());
  struct stat before = {};
  ASSERT_EQ(stat(model.c_str(), &before), 0);
  const double expected = Run(model);
  // The change falls within one step of the file system's clock.
  std::ofstream(model, std::ios::binary) << TwoProducts(1.5F).SerializeAsString();
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, model.c_str(), times, 0), 0);
  EXPECT_EQ(Run(model), RunWithout(model));
  EXPECT_NE(Run(model), expected);
}

TEST_F(WeightCacheTest, UnneededFilesAreRemoved) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  Run(model);
  const std::string stale = Packed();
  Age(stale);
  // Replaces the file by another one of the same name, as exporters do.
  fs::rename(Write("new.onnx", TwoProducts(2)), model);
  EXPECT_EQ(Run(model), RunWithout(model));
  EXPECT_NE(Packed(), stale);
  EXPECT_EQ(Files(".seen").size(), 1);
}

TEST_F(WeightCacheTest, EnginesShareOneFile) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  SessionOptions reference;
  reference.engine = Engine::kReference;
  ASSERT_TRUE(Load(model, reference).ok());
  EXPECT_TRUE(Files(".packed").empty());
  const double expected = Run(model);
  const auto optimized = Files(".packed");
  SessionOptions unoptimized;
  unoptimized.engine = Engine::kUnoptimized;
  EXPECT_EQ(SumOf(Load(model, unoptimized)), expected);
  EXPECT_EQ(Run(model), expected);
  // Both engines multiply by the same packed weights.
  EXPECT_EQ(Files(".packed"), optimized);
}

TEST_F(WeightCacheTest, LoadWarnsIfTheFolderCannotBeMade) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  SessionOptions options;
  options.weight_cache = model + "/cache";
  EXPECT_EQ(SumOf(Session::Load(model, options)), RunWithout(model));
  std::string logged;
  options.log = [&](LogLevel level, absl::string_view message) {
    EXPECT_EQ(level, LogLevel::kWarning);
    logged = std::string(message);
  };
  EXPECT_EQ(SumOf(Session::Load(model, options)), RunWithout(model));
  EXPECT_THAT(logged, HasSubstr(options.weight_cache));
  EXPECT_THAT(logged, HasSubstr("cannot be created: Not a directory"));
}

TEST_F(WeightCacheTest, ExistingFilesAreUsedIfNothingCanBeWritten) {
  const std::string model = Write("m.onnx", TwoProducts(1));
  const double expected = Run(model);
  const auto packed = Files(".packed");
  // A folder with the file's name is in the way.
  const std::string seen = Files(".seen").begin()->first;
  fs::remove(seen);
  fs::create_directories(seen + "/in the way");
  EXPECT_EQ(Run(model), expected);
  EXPECT_EQ(Files(".packed"), packed);
}

}  // namespace
}  // namespace attnrun::testing
