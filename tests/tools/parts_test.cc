// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/attnrun/arrays.h"
#include "tools/attnrun/difference.h"
#include "tools/attnrun/npz.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ValueInfo Declare(const std::string& name, ValueKind kind) {
  return {name, DataType::kFloat, std::nullopt, false, kind};
}

const std::vector<ValueInfo> kDeclared = {Declare("x", ValueKind::kSequence),
                                          Declare("x/1", ValueKind::kTensor),
                                          Declare("o", ValueKind::kOptionalSequence)};

Tensor Number(float number) { return *Tensor::Of<float>({1}, {number}); }
Tensor Numbers(const std::vector<float>& numbers) {
  std::vector<Tensor> tensors;
  for (const float number : numbers) tensors.push_back(Number(number));
  return *Tensor::Sequence(DataType::kFloat, tensors);
}

absl::StatusOr<TensorMap> Assemble(const std::vector<std::pair<std::string, Tensor>>& arrays) {
  Parts parts;
  for (const auto& [name, tensor] : arrays) {
    absl::Status status = parts.Add(PlaceOf(name, kDeclared).value(), tensor);
    if (!status.ok()) return status;
  }
  TensorMap values;
  absl::Status status = std::move(parts).AddTo(values);
  if (!status.ok()) return status;
  return values;
}

TEST(PartsTest, PlacesAreFoundByName) {
  EXPECT_EQ(PlaceOf("x/0", kDeclared)->index, 0);
  EXPECT_EQ(PlaceOf("x/0", kDeclared)->info, kDeclared.data());
  EXPECT_EQ(PlaceOf("x/20", kDeclared)->index, 20);
  EXPECT_EQ(PlaceOf("x/empty", kDeclared)->index, Place::kEmpty);
  // A value's own name comes first.
  EXPECT_EQ(PlaceOf("x/1", kDeclared)->index, Place::kWhole);
  for (const char* name : {"y", "x/", "x/-1", "x/01", "x/+1", "x/1/2", "x/1 ", "x/1/0"}) {
    EXPECT_FALSE(PlaceOf(name, kDeclared).has_value()) << name;
  }
}

TEST(PartsTest, SequencesArePutTogether) {
  const auto values = Assemble({{"x/10", Number(10)},
                                {"x/0", Number(0)},
                                {"x/1", Number(-1)},
                                {"o/empty", *Tensor::Allocate(DataType::kFloat, {0})}});
  EXPECT_THAT(std::string(values.status().message()),
              HasSubstr("expected 2 tensors of the sequence 'x', 'x/0' and so on, but 'x/1' is "
                        "missing"));
  const auto whole = Assemble({{"x/0", Number(0)}, {"x/1", Number(5)}, {"o/0", Number(7)}});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(TypeAndShape(whole->at("x")), "sequence(float)[1]");
  EXPECT_EQ(TypeAndShape(whole->at("x/1")), "float[1]");
  const auto empty = Assemble({{"o/empty", *Tensor::Allocate(DataType::kFloat, {0})}});
  EXPECT_EQ(TypeAndShape(empty->at("o")), "sequence(float)[0]");
  EXPECT_THAT(std::string(Assemble({{"x", Number(1)}}).status().message()),
              HasSubstr("'x' is a sequence: expected the arrays 'x/0' and so on, or 'x/empty', but "
                        "found 'x'"));
  EXPECT_FALSE(Assemble({{"x/0", Number(1)}, {"x/2", Number(1)}}).ok());
}

TEST(PartsTest, AnArchiveHoldsSequences) {
  const std::string path = ::testing::TempDir() + "/attnrun_parts_test.npz";
  TensorMap values;
  values["a"] = Numbers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  values["b"] = Numbers({});
  values["c"];
  values["d"] = Number(4);
  ASSERT_EQ(WriteNpz(path, values), absl::OkStatus());
  const std::vector<ValueInfo> declared = {
      Declare("a", ValueKind::kSequence), Declare("b", ValueKind::kSequence),
      Declare("c", ValueKind::kOptionalTensor), Declare("d", ValueKind::kOptionalTensor)};
  const auto read = ReadArrays(path, Role::kOutput, declared);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), 3);
  EXPECT_EQ(TypeAndShape(read->at("b")), "sequence(float)[0]");
  for (const char* name : {"a", "b", "d"}) {
    const auto difference = Compare(values.at(name), read->at(name), {});
    ASSERT_TRUE(difference.ok()) << difference.status();
    EXPECT_TRUE(difference->ok) << name << ": " << Describe(*difference);
  }
}

TEST(PartsTest, SequencesAreComparedTensorByTensor) {
  const auto difference = Compare(Numbers({1, 2, 3}), Numbers({1, 4, 3.5F}), {});
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_FALSE(difference->ok);
  EXPECT_THAT(difference->index, ElementsAre(1, 0));
  EXPECT_EQ(difference->beyond, 2);
  EXPECT_EQ(difference->elements, 3);
  const auto mismatch = [](const Tensor& expected, const Tensor& found) {
    return Compare(expected, found, {})->mismatch;
  };
  EXPECT_EQ(mismatch(Numbers({1}), Numbers({})),
            "expected sequence(float)[1], but found sequence(float)[0]");
  EXPECT_EQ(mismatch(Tensor(), Number(1)),
            "expected an optional without an element, but found float[1]");
  EXPECT_TRUE(Compare(Tensor(), Tensor(), {})->ok);
  const Tensor scalar = *Tensor::Of<float>({}, {1});
  EXPECT_EQ(mismatch(Numbers({1}), *Tensor::Sequence(DataType::kFloat, {scalar})),
            "tensor 0: expected float[1], but found float[]");
}

}  // namespace
}  // namespace attnrun::cli
