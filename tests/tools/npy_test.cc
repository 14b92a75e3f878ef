// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <fstream>
#include <random>

#include "core/elements.h"
#include "tools/attnrun/difference.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TempFile(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/attnrun_npy_test.npy";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// An .npy file of format `version` with the given header dictionary.
std::string Npy(const std::string& dictionary, const std::string& elements, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  const size_t size = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(size >> (8 * i));
  return file + dictionary + elements;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string Written(const Tensor& tensor) {
  const absl::StatusOr<NpyBytes> bytes = ToNpy(tensor);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes->header + std::string(bytes->elements.data<char>(), bytes->elements.byte_size());
}

void ExpectSame(const Tensor& expected, const Tensor& found) {
  const absl::StatusOr<Difference> difference = Compare(expected, found, {0, 0});
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_TRUE(difference->ok) << TypeAndShape(expected) << ": " << cli::Describe(*difference);
}

TEST(NpyTest, EveryElementTypeSurvivesARoundTrip) {
  for (int number = 1; number <= static_cast<int>(DataType::kInt2); ++number) {
    const auto type = static_cast<DataType>(number);
    if (type == DataType::kString) continue;
    const bool is_complex = type == DataType::kComplex64 || type == DataType::kComplex128;
    const absl::StatusOr<Tensor> tensor =
        is_complex ? FromComplex(type, {3, 1}, {{1, -2}, {0, 0.5}, {-3, 0}})
                   : FromDoubles(type, {3, 1}, {0, 1, 1});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    const absl::StatusOr<Tensor> read = ReadNpyFile(TempFile(Written(*tensor)));
    ASSERT_TRUE(read.ok()) << Name(type) << ": " << read.status();
    const absl::StatusOr<Tensor> declared = AsDeclared(*read, type);
    ASSERT_TRUE(declared.ok()) << declared.status();
    ExpectSame(*tensor, *declared);
  }
}

TEST(NpyTest, PackedIntegersKeepTheirSign) {
  const Tensor tensor = FromInts(DataType::kInt4, {3}, {-8, 7, -1}).value();
  const Tensor bytes = ReadNpyFile(TempFile(Written(tensor))).value();
  EXPECT_EQ(bytes.type(), DataType::kInt8);
  EXPECT_THAT(ToInts(bytes).value(), ElementsAre(-8, 7, -1));
  EXPECT_THAT(ToInts(AsDeclared(bytes, DataType::kInt4).value()).value(), ElementsAre(-8, 7, -1));
}

TEST(NpyTest, StringsAreUnicodeOrElseBytes) {
  const std::vector<std::string> unicode = {"", "a", "gr\xC3\xBC\xC3\x9F", "\xF0\x9F\x99\x82"};
  const std::vector<std::string> bytes = {"", "a", "\xFF\xFE", "abc"};
  for (const std::vector<std::string>& strings : {unicode, bytes}) {
    const Tensor tensor = Tensor::Of<std::string>({2, 2}, strings).value();
    const std::string file = Written(tensor);
    EXPECT_THAT(file, HasSubstr(&strings == &unicode ? "<U" : "'"));
    ExpectSame(tensor, ReadNpyFile(TempFile(file)).value());
  }
}

TEST(NpyTest, RandomShapesSurviveARoundTrip) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 generator(seed);
  for (int round = 0; round < 20; ++round) {
    Shape shape(generator() % 5);
    for (int64_t& extent : shape) extent = generator() % 4;
    Tensor tensor = Tensor::Allocate(DataType::kInt32, shape).value();
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(generator());
    }
    const std::string file = Written(tensor);
    EXPECT_EQ(file.find('\n') % 64, 63);
    ExpectSame(tensor, ReadNpyFile(TempFile(file)).value());
  }
}

TEST(NpyTest, StridedTensorsAreWrittenRowMajor) {
  const Tensor tensor = Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}).value();
  const Tensor transposed = tensor.View({3, 2}, {1, 3}, 0);
  const Tensor read = ReadNpyFile(TempFile(Written(transposed))).value();
  EXPECT_THAT(ToDoubles(read).value(), ElementsAre(0, 3, 1, 4, 2, 5));
}

struct Layout {
  std::string file;
  std::string type_and_shape;
  std::vector<double> values;
};

TEST(NpyTest, ReadsFilesWrittenByNumpy) {
  const std::string big = {0, 1, 0, 2, char(0xFF), char(0xFF), 0, 4};
  const Layout layouts[] = {
      {Npy(Dictionary("<i2", "(2, 2)"), Bytes<int16_t>({1, 2, -1, 4})),
       "int16[2,2]",
       {1, 2, -1, 4}},
      {Npy(Dictionary(">i2", "(2, 2)"), big), "int16[2,2]", {1, 2, -1, 4}},
      {Npy(Dictionary("<i2", "(2, 2)", "True"), Bytes<int16_t>({1, -1, 2, 4})),
       "int16[2,2]",
       {1, 2, -1, 4}},
      {Npy(Dictionary("<f4", "()"), Bytes<float>({2.5F})), "float[]", {2.5}},
      {Npy(Dictionary("<f8", "(1L,)"), Bytes<double>({0.1})), "double[1]", {0.1}},
      {Npy(Dictionary("<f2", "(1,)"), Bytes<uint16_t>({0x3E00})), "float16[1]", {1.5}},
      {Npy(Dictionary("<i8", "(0, 3)"), ""), "int64[0,3]", {}},
      {Npy(Dictionary("|u1", "(2,)"), "\x01\xFF", 2), "uint8[2]", {1, 255}},
      {Npy(Dictionary("|u1", "(2,)"), "\x01\xFF", 3), "uint8[2]", {1, 255}},
      {Npy(Dictionary("|b1", "(3,)"), std::string("\x00\x01\x02", 3)), "bool[3]", {0, 1, 1}},
      {Npy("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|V1\"}", "\x07"), "uint8[1]", {7}},
  };
  for (const Layout& layout : layouts) {
    const absl::StatusOr<Tensor> tensor = ReadNpyFile(TempFile(layout.file));
    ASSERT_TRUE(tensor.ok()) << layout.file << tensor.status();
    EXPECT_EQ(TypeAndShape(*tensor), layout.type_and_shape);
    EXPECT_EQ(ToDoubles(*tensor).value(), layout.values) << layout.file;
  }
}

TEST(NpyTest, ReadsBigEndianComplexAndStrings) {
  std::string complex = Bytes<float>({1, -2});
  std::reverse(complex.begin(), complex.begin() + 4);
  std::reverse(complex.begin() + 4, complex.end());
  const Tensor number = ReadNpyFile(TempFile(Npy(Dictionary(">c8", "(1,)"), complex))).value();
  EXPECT_EQ(number.data<std::complex<float>>()[0], std::complex<float>(1, -2));
  const std::string text("\0\0\0a\0\0\0\xFC\0\0\0\0", 12);
  const Tensor string = ReadNpyFile(TempFile(Npy(Dictionary(">U3", "()"), text))).value();
  EXPECT_EQ(string.data<std::string>()[0], "a\xC3\xBC");
}

TEST(NpyTest, HostileFilesAreRefused) {
  const std::string good = Npy(Dictionary("<f4", "(2,)"), Bytes<float>({1, 2}));
  const struct {
    std::string file;
    std::string message;
  } cases[] = {
      {"", "not an .npy file"},
      {"hello world, I am text", "not an .npy file"},
      {Npy(Dictionary("<f4", "(2,)"), Bytes<float>({1, 2}), 4), "version 1, 2 or 3, but found 4"},
      {good.substr(0, 20), "ends"},
      {good.substr(0, good.size() - 1), "7 bytes follow"},
      {good + "x", "9 bytes follow"},
      {Npy(Dictionary("<f4", "(1000000000000,)"), "abcd"), "4 bytes follow"},
      {Npy(Dictionary("<f4", "(4611686018427387904, 4611686018427387904)"), ""),
       "more elements than 64 bits can count"},
      {Npy(Dictionary("<f4", "(99999999999999999999,)"), ""), "not a number from 0 to 2^63-1"},
      {Npy(Dictionary("<f4", "(-1,)"), ""), "not a number from 0 to 2^63-1"},
      {Npy(Dictionary("<f4", "('2',)"), ""), "not a number from 0 to 2^63-1"},
      {Npy(Dictionary("<f4", "(2"), ""), "malformed"},
      {Npy(Dictionary("|O", "(1,)"), "abcdefgh"), "dtype '|O'"},
      {Npy(Dictionary("<M8[ns]", "(1,)"), "abcdefgh"), "dtype '<M8[ns]'"},
      {Npy(Dictionary("<f16", "(1,)"), std::string(16, 'x')), "dtype '<f16'"},
      {Npy(Dictionary("<U99999999999", "(1,)"), ""), "dtype '<U99999999999'"},
      {Npy(Dictionary("|S0", "(1000000000000,)"), ""), "elements of 0 bytes"},
      {Npy(Dictionary("<U1", "(1,)"), std::string("\0\0\x11\0", 4)), "invalid code point"},
      {Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"),
       "structured"},
      {Npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "abcd"), "neither True"},
      {Npy("{'descr': '<f4', 'shape': (1,)}", "abcd"), "lacks"},
      {Npy("{'descr': '<f4', 'more': 1}", "abcd"), "unknown key 'more'"},
      {Npy("import os", ""), "malformed"},
      {Npy("{'descr': '<f4", ""), "does not end"},
      {Npy(std::string(70000, ' '), "", 2), "at most 65536"},
  };
  for (const auto& [file, message] : cases) {
    const std::string path = TempFile(file);
    const absl::Status status = ReadNpyFile(path).status();
    EXPECT_THAT(status.message(), HasSubstr(path + ": ")) << file;
    EXPECT_THAT(status.message(), HasSubstr(message)) << file;
  }
}

TEST(NpyTest, EveryTruncationIsRefused) {
  const std::string good = Npy(Dictionary("<f4", "(3,)"), Bytes<float>({1, 2, 3}));
  ASSERT_TRUE(ReadNpyFile(TempFile(good)).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadNpyFile(TempFile(good.substr(0, size))).ok()) << size;
  }
}

TEST(NpyTest, PathsWithoutAFileAreRefused) {
  EXPECT_EQ(ReadNpyFile("/nowhere/x.npy").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ReadNpyFile(::testing::TempDir()).status().message(),
              HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace attnrun::cli
