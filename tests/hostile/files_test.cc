// SPDX-License-Identifier: Apache-2.0
// Files that are no files, data that lies in each other, and archives that are bombs.
#include <fcntl.h>
#include <sys/stat.h>
#include <zip.h>

#include <fstream>

#include "hostile/bounded.h"
#include "support/sanitizer.h"
#include "tools/attnrun/npz.h"

namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

// Where the data of a weight lies: `entries` are those of external data.
struct Place {
  const char* name;
  // Makes what "data" is, in the folder of the model.
  void (*make)(const std::string& data);
  // Parts of the message; none if the model runs.
  std::vector<std::string> said;
  std::map<std::string, std::string> entries = {{"location", "data"}};
  std::vector<int64_t> dims = {2, 3};
};

inline void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

onnx::TensorProto External(const Place& place, const std::string& name) {
  onnx::TensorProto weight = MakeTensor(name, onnx::TensorProto::FLOAT, place.dims);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : place.entries) {
    auto* entry = weight.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return weight;
}

class HostileFilesTest : public ::testing::TestWithParam<Place> {};

TEST_P(HostileFilesTest, EndInTime) {
  const Place& place = GetParam();
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2, 3});
  graph->add_output()->set_name("y");
  *graph->add_initializer() = External(place, "w");
  AddNode(graph, "Add", {"x", "w"}, {"y"}, "bad");
  const TemporaryFolder folder;
  place.make(folder.path("data"));
  const std::string path = folder.Write("model.onnx", model.SerializeAsString());
  const std::string message = InBoundedChild(
      [&] { return LoadAndRun(path, Engine::kOptimized, kDeadline).ToString().substr(0, 2000); });
  ExpectSays(message, place.said);
  EXPECT_EQ(message == "OK", place.said.empty()) << message;
}

void Sparse(const std::string& path, off_t size) {
  std::ofstream(path).close();
  fs::resize_file(path, static_cast<uintmax_t>(size));
}

const Place kPlaces[] = {
    {"Pipe", [](const std::string& data) { mkfifo(data.c_str(), 0600); }, {"a regular file"}},
    {"Folder", [](const std::string& data) { fs::create_directory(data); }, {"this is a folder"}},
    {"ItselfAsLink",
     [](const std::string& data) { fs::create_symlink("data", data); },
     {"there is no file 'data'"}},
    {"LinkToMemory",
     [](const std::string& data) { fs::create_symlink("/proc/self/mem", data); },
     {"outside the model's folder"}},
    {"LinkToEnvironment",
     [](const std::string& data) { fs::create_symlink("/proc/self/environ", data); },
     {"outside the model's folder"}},
    {"LinkToZeros",
     [](const std::string& data) { fs::create_symlink("/dev/zero", data); },
     {"outside the model's folder"}},
    {"LinkThroughRoot",
     [](const std::string& data) { fs::create_directory_symlink("/", data); },
     {"outside the model's folder"},
     {{"location", "data/etc/passwd"}}},
    {"ProcessByPath",
     [](const std::string&) {},
     {"absolute"},
     {{"location", "/proc/self/environ"}}},
    {"StepsOutAndIn", [](const std::string&) {}, {"w"}, {{"location", "data/../../etc/passwd"}}},
    {"NameWithZero",
     [](const std::string&) {},
     {"a zero byte"},
     {{"location", std::string("data\0.txt", 9)}}},
    {"Hole",
     [](const std::string& data) { Sparse(data, off_t{1} << 40); },
     {"w"},
     {{"location", "data"}},
     {1 << 19, 1 << 19}},
    {"Empty", [](const std::string& data) { Sparse(data, 0); }, {"w"}},
    {"LengthBeyondEnd",
     [](const std::string& data) { Sparse(data, 100); },
     {"w"},
     {{"location", "data"}, {"offset", "80"}, {"length", "24"}}},
    {"LengthIsNoNumber",
     [](const std::string& data) { Sparse(data, 100); },
     {"w"},
     {{"location", "data"}, {"length", "1e3"}}},
    {"OffsetIsOdd",
     [](const std::string& data) { Sparse(data, 100); },
     {},
     {{"location", "data"}, {"offset", "1"}, {"length", "24"}}},
};

INSTANTIATE_TEST_SUITE_P(All, HostileFilesTest, ::testing::ValuesIn(kPlaces),
                         [](const auto& info) { return info.param.name; });

TEST(HostileModelFileTest, IsARegularFile) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {pipe, std::string("/proc/self/mem"), std::string("/dev/zero"), folder.path(".")}) {
    const std::string message =
        InBoundedChild([&] { return LoadAndRun(path, Engine::kOptimized, kDeadline).ToString(); });
    EXPECT_THAT(message, HasSubstr(path));
  }
  // Files of the kernel say that they are empty.
  const std::string message = InBoundedChild(
      [] { return LoadAndRun("/proc/self/environ", Engine::kOptimized, kDeadline).ToString(); });
  EXPECT_THAT(message, HasSubstr("INVALID_ARGUMENT"));
}

// Weights may share bytes: the file is read once.
TEST(HostileModelFileTest, WeightsMayLieInEachOther) {
  const TemporaryFolder folder;
  Sparse(folder.path("data"), 4 << 20);
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1});
  graph->add_output()->set_name("y");
  std::string last = "x";
  for (int i = 0; i < 1'000; ++i) {
    const Place place = {
        "", nullptr, {}, {{"location", "data"}, {"offset", absl::StrCat(4 * i)}}, {1 << 19}};
    const std::string name = absl::StrCat("w", i);
    *graph->add_initializer() = External(place, name);
    graph->mutable_initializer(i)->add_external_data()->set_key("length");
    graph->mutable_initializer(i)->mutable_external_data(2)->set_value(absl::StrCat(4 << 19));
    AddNode(graph, "Add", {last, name}, {i == 999 ? "y" : "s" + name});
    last = "s" + name;
  }
  const std::string path = folder.Write("model.onnx", model.SerializeAsString());
  const std::string message =
      InBoundedChild([&] { return LoadAndRun(path, Engine::kOptimized, kDeadline).ToString(); });
  EXPECT_EQ(message, "OK");
}

std::string NpyHeader(const std::string& shape, const std::string& type = "<f4") {
  std::string dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.resize(117, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + dict + "\n";
}

// An archive with one compressed array of this header and so many zeros.
std::string Bomb(const TemporaryFolder& folder, const std::string& header, uintmax_t zeros) {
  const std::string path = folder.path("bomb.npz");
  const std::string array = folder.Write("x.npy", header);
  fs::resize_file(array, header.size() + zeros);
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  const zip_int64_t index =
      zip_file_add(archive, "x.npy", zip_source_file(archive, array.c_str(), 0, -1), 0);
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 1);
  zip_close(archive);
  return path;
}

std::string Read(const std::string& path) {
  return InBoundedChild([&]() -> std::string {
    const auto file = cli::NpzFile::Open(path);
    return (file.ok() ? file->Read("x").status() : file.status()).ToString();
  });
}

TEST(HostileArchiveTest, GivesNoMoreThanItsHeaderAnnounces) {
  const TemporaryFolder folder;
  EXPECT_THAT(Read(Bomb(folder, NpyHeader("(1,)"), uintmax_t{64} << 20)),
              HasSubstr("INVALID_ARGUMENT"));
}

TEST(HostileArchiveTest, TakesNoMemoryForWhatIsNotThere) {
  const TemporaryFolder folder;
  for (const char* shape :
       {"(1000000000000000000,)", "(1000000000, 1000000000, 1000000000)", "(-1,)",
        "(4294967296, 4294967296)", "(1000000000,)", "(0, 9223372036854775807, 2)"}) {
    SCOPED_TRACE(shape);
    EXPECT_THAT(Read(Bomb(folder, NpyHeader(shape), 100)), HasSubstr("INVALID_ARGUMENT"));
  }
}

// Strings of one byte, of which the directory announces 300 million, take 10 GB before the first is
// read; so would one string of that many bytes.
TEST(HostileArchiveTest, IsNotBelievedIfItsDirectoryLies) {
  const TemporaryFolder folder;
  constexpr uint32_t kCount = 300'000'000;
  const std::string headers[] = {NpyHeader(absl::StrCat("(", kCount, ",)"), "|S1"),
                                 NpyHeader("(1,)", absl::StrCat("|S", kCount))};
  for (const std::string& header : headers) {
    const std::string path = Bomb(folder, header, 100);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    // The size of the contents in the entry of the directory.
    const uint32_t announced = kCount + static_cast<uint32_t>(header.size());
    file.clear();
    file.seekp(static_cast<std::streamoff>(bytes.find("PK\1\2") + 24));
    file.write(reinterpret_cast<const char*>(&announced), sizeof(announced));
    file.close();
    EXPECT_THAT(Read(path), HasSubstr("the directory announces 300000128 bytes"));
  }
}

// More zeros than there is memory, in a file of a few megabytes.
TEST(HostileArchiveTest, IsRefusedWhereMemoryEnds) {
  const TemporaryFolder folder;
  constexpr uintmax_t kElements = 280 << 20;
  const std::string path =
      Bomb(folder, NpyHeader(absl::StrCat("(", kElements, ",)")), kElements * sizeof(float));
  EXPECT_LT(fs::file_size(path), uintmax_t{10} << 20);
  if (!kSanitizer) {
    EXPECT_THAT(Read(path), HasSubstr("RESOURCE_EXHAUSTED"));
  }
}

}  // namespace
}  // namespace attnrun::testing
