// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/elements.h"
#include "tools/attnrun/npy_header.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TempPath(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Npy(const std::string& descr, absl::Span<const int64_t> shape,
                const std::string& elements) {
  return FormatNpyHeader(descr, shape) + elements;
}

// A compressed archive of the given entries, as other programs may write it.
std::string WriteZip(const std::vector<std::pair<std::string, std::string>>& entries) {
  const std::string path = TempPath("attnrun_npz_test_in.npz");
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    zip_set_file_compression(archive, index, ZIP_CM_DEFLATE, 9);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

absl::Status ReadStatus(const std::string& path, const std::string& name) {
  const absl::StatusOr<NpzFile> file = NpzFile::Open(path);
  if (!file.ok()) return file.status();
  return file->Read(name).status();
}

TEST(NpzTest, TensorsSurviveARoundTrip) {
  const std::string path = TempPath("attnrun_npz_test.npz");
  const TensorMap tensors = {{"ids", Tensor::Of<int64_t>({1, 3}, {1, 2, 3}).value()},
                             {"past.0/key", Tensor::Allocate(DataType::kFloat, {1, 0, 8}).value()},
                             {"gr\xC3\xBC\xC3\x9F", Tensor::Of<float>({}, {0.5F}).value()}};
  ASSERT_TRUE(WriteNpz(path, tensors).ok());
  const absl::StatusOr<NpzFile> file = NpzFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->entries().size(), 3);
  EXPECT_THAT(ToInts(file->Read("ids").value()).value(), ElementsAre(1, 2, 3));
  EXPECT_EQ(TypeAndShape(file->Read("past.0/key").value()), "float[1,0,8]");
  EXPECT_THAT(ToDoubles(file->Read("gr\xC3\xBC\xC3\x9F").value()).value(), ElementsAre(0.5));
}

TEST(NpzTest, EqualTensorsGiveEqualFiles) {
  const TensorMap tensors = {{"x", Tensor::Of<float>({2}, {1, 2}).value()}};
  ASSERT_TRUE(WriteNpz(TempPath("a.npz"), tensors).ok());
  ASSERT_TRUE(WriteNpz(TempPath("b.npz"), tensors).ok());
  EXPECT_EQ(ReadAll(TempPath("a.npz")), ReadAll(TempPath("b.npz")));
}

TEST(NpzTest, ReadsCompressedEntries) {
  const std::string path = WriteZip({{"x.npy", Npy("|u1", {4096}, std::string(4096, '\x05'))}});
  EXPECT_LT(std::filesystem::file_size(path), 1000);
  const Tensor tensor = NpzFile::Open(path)->Read("x").value();
  EXPECT_EQ(TypeAndShape(tensor), "uint8[4096]");
  EXPECT_EQ(tensor.data<uint8_t>()[4095], 5);
}

TEST(NpzTest, HostileArchivesAreRefused) {
  const std::string text = TempPath("attnrun_npz_test.txt");
  WriteAll(text, "this is no archive");
  EXPECT_THAT(ReadStatus(text, "x").message(), HasSubstr("cannot be read as an .npz archive"));
  EXPECT_EQ(ReadStatus("/nowhere/x.npz", "x").code(), absl::StatusCode::kNotFound);
  const struct {
    std::string name;
    std::string bytes;
    std::string message;
  } cases[] = {
      {"x.txt", "hello", "expected .npy entries, but found 'x.txt'"},
      {"x.npy", "hello", "array 'x': is not an .npy file"},
      {"x.npy", Npy("<f4", {1000000000000}, "abcd"),
       "array 'x': the header announces shape [1000000000000]"},
      // 4 MB of zeros compressed to 4 KB, behind a header that announces four bytes.
      {"x.npy", Npy("<f4", {1}, std::string(1 << 22, '\0')), "4194304 bytes follow"},
  };
  for (const auto& [name, bytes, message] : cases) {
    EXPECT_THAT(ReadStatus(WriteZip({{name, bytes}}), "x").message(), HasSubstr(message));
  }
}

TEST(NpzTest, DuplicateNamesAreRefused) {
  const std::string path = WriteZip({{"x.npy", "1"}, {"y.npy", "2"}});
  std::string bytes = ReadAll(path);
  for (size_t at; (at = bytes.find("y.npy")) != std::string::npos;) bytes[at] = 'x';
  WriteAll(path, bytes);
  EXPECT_THAT(ReadStatus(path, "x").message(), HasSubstr("holds 'x' twice"));
}

TEST(NpzTest, DamagedBytesAreRefusedOrReadAsBefore) {
  const std::string path = WriteZip({{"x.npy", Npy("|u1", {64}, std::string(64, '\x05'))}});
  const std::string good = ReadAll(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    WriteAll(path, bad);
    const absl::StatusOr<NpzFile> file = NpzFile::Open(path);
    if (!file.ok() || file->entries().count("x") == 0) continue;
    const absl::StatusOr<Tensor> tensor = file->Read("x");
    if (!tensor.ok()) continue;
    EXPECT_EQ(TypeAndShape(*tensor), "uint8[64]") << "byte " << i;
  }
}

TEST(NpzTest, EveryTruncationIsRefused) {
  const std::string path = WriteZip({{"x.npy", Npy("|u1", {64}, std::string(64, '\x05'))}});
  const std::string good = ReadAll(path);
  for (size_t size = 0; size < good.size(); ++size) {
    WriteAll(path, good.substr(0, size));
    EXPECT_FALSE(ReadStatus(path, "x").ok()) << "cut at " << size;
  }
}

TEST(NpzTest, AFailedWriteLeavesNothing) {
  const std::string folder = TempPath("attnrun_npz_test_folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  // The name is not UTF-8, so the archive cannot store it.
  const TensorMap tensors = {{"\xFF", Tensor::Of<float>({}, {0}).value()}};
  EXPECT_FALSE(WriteNpz(folder + "/out.npz", tensors).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_THAT(WriteNpz(folder + "/no/out.npz", tensors).message(), HasSubstr("no/out.npz: cannot"));
  EXPECT_THAT(WriteNpz(folder, tensors).message(), HasSubstr("not a regular file"));
}

TEST(NpzTest, WritingKeepsSymbolicLinks) {
  const std::string link = TempPath("attnrun_npz_test_link.npz");
  const std::string target = TempPath("attnrun_npz_test_target.npz");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(target, link);
  ASSERT_TRUE(WriteNpz(link, {{"x", Tensor::Of<float>({}, {0}).value()}}).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(NpzFile::Open(target).ok());
}

}  // namespace
}  // namespace attnrun::cli
