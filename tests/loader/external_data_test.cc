// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "loader/loader.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;
using ::testing::ElementsAre;

constexpr char kThreeInts[] = "\1\0\0\0\2\0\0\0\3\0\0\0";
const std::string kData(kThreeInts, 12);  // NOLINT(cert-err58-cpp)

void Put(TensorProto* tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

// A model whose initializer "e", int32[2], lies in an external file.
std::string ModelWith(const std::string& location, const std::string& offset = "",
                      const std::string& length = "", int type = TensorProto::INT32) {
  onnx::ModelProto model = SmallModel();
  TensorProto* w = model.mutable_graph()->add_initializer();
  *w = MakeTensor("e", type, {2});
  w->set_data_location(TensorProto::EXTERNAL);
  Put(w, "location", location);
  if (!offset.empty()) Put(w, "offset", offset);
  if (!length.empty()) Put(w, "length", length);
  return model.SerializeAsString();
}

std::vector<int64_t> ReadInitializer(const std::string& path) {
  const absl::StatusOr<loader::Model> model = loader::LoadModel(path);
  EXPECT_TRUE(model.ok()) << Message(model.status());
  return model.ok() ? ToInts(*model->graph->FindValue("e")->constant()).value()
                    : std::vector<int64_t>();
}

std::string Error(const std::string& path) { return Message(loader::LoadModel(path).status()); }

TEST(ExternalDataTest, IsFoundBesideTheModel) {
  const TemporaryFolder folder;
  folder.Write("data.bin", kData);
  folder.Write("sub/data.bin", kData);
  EXPECT_THAT(ReadInitializer(folder.Write("a.onnx", ModelWith("data.bin"))), ElementsAre(1, 2));
  EXPECT_THAT(ReadInitializer(folder.Write("a.onnx", ModelWith("sub/../data.bin", "4", "8"))),
              ElementsAre(2, 3));
  EXPECT_THAT(ReadInitializer(folder.Write("a.onnx", ModelWith("./sub/data.bin", "0", ""))),
              ElementsAre(1, 2));
}

TEST(ExternalDataTest, RelativePathsOfTheModelWork) {
  const TemporaryFolder folder;
  folder.Write("data.bin", kData);
  folder.Write("a.onnx", ModelWith("data.bin"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path(""));
  EXPECT_THAT(ReadInitializer("a.onnx"), ElementsAre(1, 2));
  fs::current_path(before);
}

TEST(ExternalDataTest, TheDataFileIsMappedOnce) {
  const TemporaryFolder folder;
  folder.Write("data.bin", kData);
  const loader::Model model =
      loader::LoadModel(folder.Write("a.onnx", ModelWith("data.bin", "4"))).value();
  // A mapping begins at a page, so at a multiple of 4096.
  const auto address = reinterpret_cast<uintptr_t>(model.graph->FindValue("e")->constant()->raw());
  EXPECT_EQ(address % 4096, 4);
}

TEST(ExternalDataTest, LinksIntoTheStoreOfAHubCacheAreFollowed) {
  const TemporaryFolder folder;
  folder.Write("blobs/aaa", ModelWith("model.onnx_data"));
  folder.Write("blobs/bbb", kData);
  fs::create_directories(folder.path("snapshots/x/onnx"));
  for (const auto* snapshot : {"snapshots/x", "snapshots/x/onnx"}) {
    const fs::path up = snapshot == std::string("snapshots/x") ? "../.." : "../../..";
    fs::create_symlink(up / "blobs/aaa", folder.path(absl::StrCat(snapshot, "/model.onnx")));
    fs::create_symlink(up / "blobs/bbb", folder.path(absl::StrCat(snapshot, "/model.onnx_data")));
    EXPECT_THAT(ReadInitializer(folder.path(absl::StrCat(snapshot, "/model.onnx"))),
                ElementsAre(1, 2));
  }
}

TEST(ExternalDataTest, ALinkToAModelFindsTheDataBesideTheModel) {
  const TemporaryFolder folder;
  folder.Write("real/a.onnx", ModelWith("data.bin"));
  folder.Write("real/data.bin", kData);
  fs::create_symlink("real/a.onnx", folder.path("link.onnx"));
  EXPECT_THAT(ReadInitializer(folder.path("link.onnx")), ElementsAre(1, 2));
}

TEST(ExternalDataTest, LocationsOutsideTheFolderAreRefused) {
  const TemporaryFolder folder;
  folder.Write("secret", kData);
  folder.Write("secrets/secret", kData);
  fs::create_directories(folder.path("m"));
  fs::create_symlink("../secret", folder.path("m/link"));
  fs::create_symlink("..", folder.path("m/up"));
  // The path of "mm" begins with that of "m", but "mm" is another folder.
  fs::create_directories(folder.path("mm"));
  folder.Write("mm/secret", kData);
  const std::pair<std::string, std::string> cases[] = {
      {folder.path("secret"),
       "expected a location relative to the model's folder, but found the "
       "absolute '" +
           folder.path("secret") + "'"},
      {"../secret", "the location '../secret' is outside the model's folder"},
      {"x/../../mm/secret", "the location 'x/../../mm/secret' is outside the model's folder"},
      {"link", "the location 'link' leads to '" + fs::canonical(folder.path("secret")).string() +
                   "', outside the model's folder"},
      {"up/secret", "the location 'up/secret' leads to '" +
                        fs::canonical(folder.path("secret")).string() +
                        "', outside the model's folder"},
      {"", "the location of its data is empty"},
      {std::string("a\0b", 3), "the location of its data contains a zero byte"},
  };
  for (const auto& [location, message] : cases) {
    const std::string path = folder.Write("m/a.onnx", ModelWith(location));
    EXPECT_EQ(Error(path), absl::StrCat(path, ": initializer 'e': ", message));
  }
}

TEST(ExternalDataTest, MissingAndShortFilesAreErrors) {
  const TemporaryFolder folder;
  folder.Write("data.bin", kData);
  fs::create_directories(folder.path("folder"));
  const std::pair<std::string, std::string> cases[] = {
      {ModelWith("none.bin"), "there is no file 'none.bin' in the model's folder '" +
                                  fs::canonical(folder.path("")).string() + "'"},
      {ModelWith("folder"), "data file 'folder': expected a file, but this is a folder"},
      {ModelWith("."), "data file '.': expected a file, but this is a folder"},
      {ModelWith("data.bin", "8"),
       "expected 8 bytes at offset 8 of data file 'data.bin', but it has 12 bytes"},
      {ModelWith("data.bin", "18446744073709551615"),
       "expected 8 bytes at offset 18446744073709551615 of data file 'data.bin', but it has 12 "
       "bytes"},
      {ModelWith("data.bin", "-4"), "expected the offset of its data as a number, but found '-4'"},
      {ModelWith("data.bin", "", "12"), "int32[2] needs 8 bytes, but the length of its data is 12"},
      {ModelWith("data.bin", "", "", TensorProto::STRING),
       "strings cannot be stored as raw or external data"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string path = folder.Write("a.onnx", bytes);
    EXPECT_EQ(Error(path), absl::StrCat(path, ": initializer 'e': ", message));
  }
  EXPECT_EQ(loader::LoadModel(folder.Write("a.onnx", ModelWith("none.bin"))).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ExternalDataTest, ModelsGivenAsBytesHaveNoExternalData) {
  const std::string bytes = ModelWith("data.bin");
  EXPECT_EQ(Message(loader::ParseModel(bytes).status()),
            "the model: initializer 'e': its data is in the file 'data.bin', but a model given as "
            "bytes has no folder");
}

}  // namespace
}  // namespace attnrun::testing
