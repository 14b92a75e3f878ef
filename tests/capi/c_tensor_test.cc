// SPDX-License-Identifier: Apache-2.0
// Tensors of the C API: memory of the caller's with strides, strings, sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attnrun/tensor.h"
#include "capi/handles.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> ShapeOf(const attnrun_tensor* tensor) {
  const int64_t* const shape = attnrun_tensor_shape(tensor);
  return {shape, shape + attnrun_tensor_rank(tensor)};
}

struct Layout {
  attnrun_type type;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// The error of a tensor of this layout in `size` bytes; "" if it can be made.
std::string Borrow(const Layout& layout, size_t size, bool is_mutable = false) {
  std::vector<char> memory(size);
  attnrun_tensor* tensor = nullptr;
  const int64_t* const strides = layout.strides.empty() ? nullptr : layout.strides.data();
  attnrun_status* const status =
      is_mutable
          ? attnrun_tensor_borrow_mutable(layout.type, layout.shape.size(), layout.shape.data(),
                                          strides, memory.data(), size, &tensor)
          : attnrun_tensor_borrow(layout.type, layout.shape.size(), layout.shape.data(), strides,
                                  memory.data(), size, &tensor);
  EXPECT_EQ(tensor == nullptr, status != nullptr);
  attnrun_tensor_free(tensor);
  return Told(status);
}

TEST(CTensorTest, BorrowsTheCallersMemory) {
  const std::vector<float> elements = {1, 2, 3, 4, 5, 6};
  const Handle<attnrun_tensor> tensor = Floats({2, 3}, elements);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(attnrun_tensor_type(tensor.get()), ATTNRUN_TYPE_FLOAT);
  EXPECT_THAT(ShapeOf(tensor.get()), ElementsAre(2, 3));
  EXPECT_EQ(attnrun_tensor_element_count(tensor.get()), 6U);
  EXPECT_EQ(attnrun_tensor_byte_size(tensor.get()), 24U);
  EXPECT_EQ(attnrun_tensor_data(tensor.get()), elements.data());
  EXPECT_EQ(attnrun_tensor_mutable_data(tensor.get()), nullptr);
  EXPECT_EQ(attnrun_tensor_string(tensor.get(), 0, nullptr), nullptr);
}

TEST(CTensorTest, HoldsEveryTypeOfNumbers) {
  for (int type = ATTNRUN_TYPE_FLOAT; type <= ATTNRUN_TYPE_INT2; ++type) {
    const auto data_type = static_cast<DataType>(type);
    EXPECT_EQ(attnrun_type_name(type), Name(data_type));
    if (type == ATTNRUN_TYPE_STRING) continue;
    // Eight elements take as many bytes as one has bits.
    EXPECT_EQ(Borrow({type, {8}, {}}, BitWidth(data_type)), "") << Name(data_type);
  }
  EXPECT_STREQ(attnrun_type_name(ATTNRUN_TYPE_SEQUENCE), "sequence");
  EXPECT_STREQ(attnrun_type_name(-1), "undefined");
}

TEST(CTensorTest, RefusesWhatDoesNotFit) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const attnrun_type f = ATTNRUN_TYPE_FLOAT;
  EXPECT_NE(Borrow({f, {2, 3}, {}}, 23), "");
  EXPECT_NE(Borrow({f, {2, 3}, {}}, 28), "");
  EXPECT_NE(Borrow({f, {-1}, {}}, 0), "");
  EXPECT_NE(Borrow({f, {kHuge, kHuge}, {}}, 0), "");
  EXPECT_THAT(Borrow({99, {1}, {}}, 4), HasSubstr("expected the type of a tensor, but found 99"));
  EXPECT_THAT(Borrow({ATTNRUN_TYPE_SEQUENCE, {1}, {}}, 4), HasSubstr("but found 31"));
  EXPECT_THAT(Borrow({ATTNRUN_TYPE_STRING, {1}, {}}, 4), HasSubstr("attnrun_tensor_strings"));
  EXPECT_THAT(Borrow({f, std::vector<int64_t>(65, 1), {}}, 4), HasSubstr("at most 64 axes"));
  attnrun_tensor* tensor = nullptr;
  EXPECT_EQ(Told(attnrun_tensor_borrow(f, 1, nullptr, nullptr, "", 0, &tensor)),
            "3: shape is NULL");
  const int64_t one = 1;
  EXPECT_EQ(Told(attnrun_tensor_borrow(f, 1, &one, nullptr, nullptr, 4, &tensor)),
            "3: data is NULL");
  EXPECT_EQ(Told(attnrun_tensor_borrow(f, 1, &one, nullptr, "1234", 4, nullptr)),
            "3: tensor is NULL");
  EXPECT_EQ(tensor, nullptr);
}

TEST(CTensorTest, StridesStayInsideTheMemory) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const attnrun_type f = ATTNRUN_TYPE_FLOAT;
  // The last element of two rows of three is at 1 * 4 + 2 * 1.
  EXPECT_EQ(Borrow({f, {2, 3}, {4, 1}}, 28), "");
  EXPECT_THAT(Borrow({f, {2, 3}, {4, 1}}, 27), HasSubstr("lies outside of the 24 bytes given"));
  EXPECT_THAT(Borrow({f, {2, 3}, {kHuge, kHuge}}, 28), HasSubstr("lies outside"));
  EXPECT_THAT(Borrow({f, {2, 3}, {-3, 1}}, 28), HasSubstr("strides of at least 0"));
  EXPECT_THAT(Borrow({ATTNRUN_TYPE_INT4, {2, 3}, {4, 1}}, 28), HasSubstr("packed"));
  // No element, so none is outside.
  EXPECT_EQ(Borrow({f, {0, 3}, {kHuge, kHuge}}, 0), "");
  // One element for all: to be read, not to be written.
  EXPECT_EQ(Borrow({f, {5}, {0}}, 4), "");
  EXPECT_THAT(Borrow({f, {5}, {0}}, 4, true), HasSubstr("may be at one place"));
  EXPECT_EQ(Borrow({f, {3, 2}, {1, 3}}, 24, true), "");
  EXPECT_THAT(Borrow({f, {3, 2}, {1, 2}}, 24, true), HasSubstr("may be at one place"));
}

TEST(CTensorTest, CopiesStrings) {
  const std::vector<const char*> strings = {"one", "", "t\0o"};
  const std::vector<size_t> lengths = {3, 0, 3};
  const int64_t shape = 3;
  const auto tensor = Made<attnrun_tensor>([&](attnrun_tensor** made) {
    return attnrun_tensor_strings(1, &shape, strings.data(), lengths.data(), 3, made);
  });
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(attnrun_tensor_type(tensor.get()), ATTNRUN_TYPE_STRING);
  size_t length = 0;
  const char* const third = attnrun_tensor_string(tensor.get(), 2, &length);
  EXPECT_EQ(std::string(third, length), std::string("t\0o", 3));
  EXPECT_EQ(attnrun_tensor_string(tensor.get(), 3, nullptr), nullptr);
  EXPECT_EQ(attnrun_tensor_data(tensor.get()), nullptr);
  EXPECT_EQ(attnrun_tensor_byte_size(tensor.get()), 0U);

  attnrun_tensor* none = nullptr;
  EXPECT_EQ(Told(attnrun_tensor_strings(1, &shape, strings.data(), nullptr, 2, &none)),
            "3: expected 3 strings for the shape [3], but found 2");
  const std::vector<const char*> missing = {"one", nullptr, "two"};
  EXPECT_EQ(Told(attnrun_tensor_strings(1, &shape, missing.data(), nullptr, 3, &none)),
            "3: strings[1] is NULL");
}

TEST(CTensorTest, SequencesShareTheirTensors) {
  const std::vector<float> elements = {1, 2};
  Handle<attnrun_tensor> first = Floats({2}, elements);
  const attnrun_tensor* list[] = {first.get()};
  const auto sequence = Made<attnrun_tensor>([&](attnrun_tensor** made) {
    return attnrun_tensor_sequence(ATTNRUN_TYPE_FLOAT, list, 1, made);
  });
  ASSERT_NE(sequence, nullptr);
  first.reset();
  EXPECT_EQ(attnrun_tensor_type(sequence.get()), ATTNRUN_TYPE_SEQUENCE);
  EXPECT_EQ(attnrun_tensor_element_count(sequence.get()), 1U);
  EXPECT_EQ(attnrun_tensor_data(sequence.get()), nullptr);
  const auto again = Made<attnrun_tensor>(
      [&](attnrun_tensor** made) { return attnrun_tensor_sequence_at(sequence.get(), 0, made); });
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(attnrun_tensor_data(again.get()), elements.data());

  attnrun_tensor* none = nullptr;
  EXPECT_EQ(Told(attnrun_tensor_sequence_at(sequence.get(), 1, &none)),
            "11: there is no tensor 1 in a sequence of 1");
  EXPECT_EQ(Told(attnrun_tensor_sequence_at(again.get(), 0, &none)),
            "3: expected a sequence, but found float[2]");
  EXPECT_NE(Told(attnrun_tensor_sequence(ATTNRUN_TYPE_INT64, list, 0, nullptr)), "");
}

}  // namespace
}  // namespace attnrun::testing
