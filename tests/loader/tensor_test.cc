// SPDX-License-Identifier: Apache-2.0
// Every element type in every form in which ONNX stores it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "loader/loader.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr int kFloat4E2M1 = 23;
constexpr int kFloat8E8M0 = 24;
constexpr int kUint2 = 25;
constexpr int kInt2 = 26;

absl::StatusOr<Tensor> Read(const TensorProto& proto) {
  const TemporaryFolder folder;
  return loader::ReadTensorProto(folder.Write("t.pb", proto.SerializeAsString()));
}

struct Case {
  int type;
  std::vector<int64_t> dims;
  std::string raw;
  std::vector<int32_t> int32_data;
  std::vector<double> values;
};

class RawAndInt32DataTest : public ::testing::TestWithParam<Case> {};

TEST_P(RawAndInt32DataTest, HoldTheSame) {
  const Case& c = GetParam();
  const Tensor raw = Read(RawTensor("t", c.type, c.dims, c.raw)).value();
  EXPECT_EQ(static_cast<int>(raw.type()), c.type);
  EXPECT_THAT(ToDoubles(raw).value(), ElementsAreArray(c.values));
  TensorProto typed = MakeTensor("t", c.type, c.dims);
  for (const int32_t value : c.int32_data) typed.add_int32_data(value);
  EXPECT_THAT(ToDoubles(Read(typed).value()).value(), ElementsAreArray(c.values));
}

INSTANTIATE_TEST_SUITE_P(
    All, RawAndInt32DataTest,
    ::testing::Values(
        Case{TensorProto::INT32, {1}, {"\xfe\xff\xff\xff", 4}, {-2}, {-2}},
        Case{TensorProto::UINT16, {2}, {"\xff\xff\1\0", 4}, {65535, 1}, {65535, 1}},
        Case{TensorProto::INT16, {1}, {"\xfe\xff", 2}, {-2}, {-2}},
        Case{TensorProto::UINT8, {2}, {"\xff\1", 2}, {255, 1}, {255, 1}},
        Case{TensorProto::INT8, {2}, {"\xff\1", 2}, {-1, 1}, {-1, 1}},
        // Any byte other than 0 is true.
        Case{TensorProto::BOOL, {3}, {"\0\1\2", 3}, {0, 1, 2}, {0, 1, 1}},
        Case{TensorProto::FLOAT16, {2}, {"\0\x3c\0\xc0", 4}, {0x3c00, 0xc000}, {1, -2}},
        Case{TensorProto::BFLOAT16, {2}, {"\x80\x3f\0\xc0", 4}, {0x3f80, 0xc000}, {1, -2}},
        Case{TensorProto::FLOAT8E4M3FN, {2}, "\x38\xc0", {0x38, 0xc0}, {1, -2}},
        Case{TensorProto::FLOAT8E4M3FNUZ, {1}, "\x40", {0x40}, {1}},
        Case{TensorProto::FLOAT8E5M2, {2}, "\x3c\xc0", {0x3c, 0xc0}, {1, -2}},
        Case{TensorProto::FLOAT8E5M2FNUZ, {1}, "\x40", {0x40}, {1}},
        Case{kFloat8E8M0, {2}, "\x7f\x80", {0x7f, 0x80}, {1, 2}},
        // Packed types: the first element is in the lowest bits and the last byte is padded.
        Case{TensorProto::UINT4, {3}, "\x21\x0f", {0x21, 0x0f}, {1, 2, 15}},
        Case{TensorProto::INT4, {3}, "\x21\x0f", {0x21, 0x0f}, {1, 2, -1}},
        Case{kFloat4E2M1, {2}, "\xa2", {0xa2}, {1, -1}},
        Case{kUint2, {5}, "\xe4\x03", {0xe4, 3}, {0, 1, 2, 3, 3}},
        Case{kInt2, {5}, "\xe4\x03", {0xe4, 3}, {0, 1, -2, -1, -1}},
        // A scalar and a tensor without elements.
        Case{TensorProto::INT32, {}, {"\5\0\0\0", 4}, {5}, {5}},
        Case{TensorProto::INT32, {2, 0}, "", {}, {}}));

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(TensorTest, WideTypes) {
  TensorProto typed = MakeTensor("t", TensorProto::INT64, {2});
  for (const int64_t value : {int64_t{-1}, INT64_MAX}) typed.add_int64_data(value);
  EXPECT_THAT(ToInts(Read(typed).value()).value(), ElementsAre(-1, INT64_MAX));
  EXPECT_THAT(ToInts(Read(RawTensor("t", TensorProto::INT64, {2}, Bytes<int64_t>({-1, 5}))).value())
                  .value(),
              ElementsAre(-1, 5));
  for (const int type : {TensorProto::UINT64, TensorProto::UINT32}) {
    TensorProto unsigned_typed = MakeTensor("t", type, {1});
    unsigned_typed.add_uint64_data(4294967295);
    EXPECT_THAT(ToInts(Read(unsigned_typed).value()).value(), ElementsAre(4294967295));
  }
  TensorProto doubles = MakeTensor("t", TensorProto::DOUBLE, {2});
  for (const double value : {.1, -2.}) doubles.add_double_data(value);
  EXPECT_THAT(ToDoubles(Read(doubles).value()).value(), ElementsAre(.1, -2));
  EXPECT_THAT(ToDoubles(Read(RawTensor("t", TensorProto::DOUBLE, {1}, Bytes<double>({.1}))).value())
                  .value(),
              ElementsAre(.1));
}

TEST(TensorTest, ComplexNumbersArePairs) {
  using Complex = std::complex<double>;
  TensorProto single = MakeTensor("t", TensorProto::COMPLEX64, {2});
  for (const float part : {1.f, 2.f, 3.f, -4.f}) single.add_float_data(part);
  EXPECT_THAT(ToComplex(Read(single).value()).value(), ElementsAre(Complex(1, 2), Complex(3, -4)));
  TensorProto wide = MakeTensor("t", TensorProto::COMPLEX128, {1});
  for (const double part : {.5, .25}) wide.add_double_data(part);
  EXPECT_THAT(ToComplex(Read(wide).value()).value(), ElementsAre(Complex(.5, .25)));
  EXPECT_THAT(
      ToComplex(Read(RawTensor("t", TensorProto::COMPLEX128, {1}, Bytes<double>({1, 2}))).value())
          .value(),
      ElementsAre(Complex(1, 2)));
}

TEST(TensorTest, StringsAreBytes) {
  TensorProto proto = MakeTensor("t", TensorProto::STRING, {2});
  proto.add_string_data("");
  proto.add_string_data("caf\xe9");
  EXPECT_THAT(ToStrings(Read(proto).value()).value(), ElementsAre("", "caf\xe9"));
}

TEST(TensorTest, FloatDataInSeveralPiecesIsJoined) {
  // Each element as a field of its own, then two packed pieces.
  const std::string head = MakeTensor("t", TensorProto::FLOAT, {2}).SerializeAsString();
  const std::string one = Bytes<float>({1});
  const std::string two = Bytes<float>({2});
  const TemporaryFolder folder;
  for (const std::string& tag : {std::string("\x25"), std::string("\x22\4")}) {
    const std::string path = folder.Write("t.pb", absl::StrCat(head, tag, one, tag, two));
    EXPECT_THAT(ToDoubles(loader::ReadTensorProto(path).value()).value(), ElementsAre(1, 2));
  }
}

struct BadCase {
  const char* name;
  TensorProto proto;
  const char* message;
};

BadCase Bad(const char* name, TensorProto proto, const char* message) {
  return {name, std::move(proto), message};
}

TensorProto Counted(int type, const std::vector<int64_t>& dims, int int32s, int floats) {
  TensorProto proto = MakeTensor("t", type, dims);
  for (int i = 0; i < int32s; ++i) proto.add_int32_data(i);
  for (int i = 0; i < floats; ++i) proto.add_float_data(i);
  return proto;
}

TEST(TensorTest, ErrorsSayWhatIsWrong) {
  constexpr int64_t kBig = int64_t{1} << 40;
  const std::string raw8(8, '\0');
  TensorProto both = Counted(TensorProto::FLOAT, {2}, 0, 2);
  both.set_raw_data(raw8);
  TensorProto segment = MakeTensor("t", TensorProto::FLOAT, {0});
  segment.mutable_segment()->set_begin(0);
  const std::vector<BadCase> cases = {
      Bad("TooShort", RawTensor("t", 1, {3}, raw8), "float[3] needs 12 bytes, but there are 8"),
      Bad("TooLong", RawTensor("t", 1, {1}, raw8), "float[1] needs 4 bytes, but there are 8"),
      Bad("Negative", RawTensor("t", 1, {2, -3}, raw8), "shape [2,-3] has a negative extent"),
      Bad("Overflow", RawTensor("t", 1, {kBig, kBig}, raw8),
          "shape [1099511627776,1099511627776] has more elements than 64 bits can count"),
      Bad("BytesOverflow", RawTensor("t", 11, {kBig, 1 << 22}, raw8),
          "4611686018427387904 elements of double exceed 64-bit addresses"),
      Bad("TypedOverflow", Counted(TensorProto::INT32, {kBig, 1 << 22}, 2, 0),
          "int32[1099511627776,4194304] exceeds 64-bit addresses"),
      Bad("UnknownType", RawTensor("t", 27, {8}, raw8),
          "expected an element type of 1 to 26, but found 27"),
      Bad("Undefined", RawTensor("t", 0, {8}, raw8),
          "expected an element type of 1 to 26, but found 0"),
      Bad("NoData", MakeTensor("t", 1, {3}),
          "float[3] needs 3 values in float_data, but there are 0"),
      Bad("WrongField", Counted(1, {2}, 2, 0),
          "float[2] needs 2 values in float_data, but there are 0"),
      Bad("FieldOfOtherType", Counted(6, {2}, 0, 2),
          "the elements of int32[2] are in a field for other types"),
      Bad("PackedCount", Counted(TensorProto::INT4, {3}, 3, 0),
          "int4[3] needs 2 values in int32_data, but there are 3"),
      Bad("TwoFields", both, "it holds elements in more than one field"),
      Bad("RawStrings", RawTensor("t", 8, {1}, raw8),
          "strings cannot be stored as raw or external data"),
      Bad("Segments", segment, "tensors stored in segments are not supported"),
  };
  for (const BadCase& c : cases) {
    const TemporaryFolder folder;
    const std::string path = folder.Write("t.pb", c.proto.SerializeAsString());
    EXPECT_EQ(Message(loader::ReadTensorProto(path).status()), absl::StrCat(path, ": ", c.message))
        << c.name;
  }
}

}  // namespace
}  // namespace attnrun::testing
