// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_ANY_TYPE_H_
#define ATTNRUN_TESTS_SUPPORT_ANY_TYPE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/op_tester.h"

// For operators that move elements of any type: tensors of random bits, and exact comparison.
namespace attnrun::testing {

// One type per width in memory, from 2 bits to 16 bytes, and strings.
inline const std::vector<DataType>& TypesOfEachWidth() {
  static const auto* const kTypes = new std::vector<DataType>{
      DataType::kInt2,  DataType::kUint4, DataType::kInt8,       DataType::kBfloat16,
      DataType::kFloat, DataType::kInt64, DataType::kComplex128, DataType::kString};
  return *kTypes;
}

inline Tensor RandomBits(DataType type, const std::vector<int64_t>& shape,
                         std::mt19937& generator) {
  Tensor tensor = Tensor::Allocate(type, shape).value();
  if (type == DataType::kString) {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.mutable_data<std::string>()[i] = std::to_string(generator() % 1000);
    }
    return tensor;
  }
  for (size_t i = 0; i < tensor.byte_size(); ++i) {
    tensor.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(generator());
  }
  // Clears the unused bits after the last packed element, so that bytes can be compared.
  if (BitWidth(type) < 8 && tensor.num_elements() % (8 / BitWidth(type)) != 0) {
    const int64_t used = tensor.num_elements() % (8 / BitWidth(type)) * BitWidth(type);
    tensor.mutable_data<uint8_t>()[tensor.byte_size() - 1] &= static_cast<uint8_t>((1 << used) - 1);
  }
  return tensor;
}

// Expects equal types, shapes and bits (NaNs included).
inline void ExpectSame(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(TypeAndShape(actual), TypeAndShape(expected));
  const Tensor dense = actual.Dense().value();
  if (expected.type() == DataType::kString) {
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      ASSERT_EQ(dense.data<std::string>()[i], expected.data<std::string>()[i]) << "element " << i;
    }
    return;
  }
  if (expected.byte_size() == 0) return;
  EXPECT_EQ(std::memcmp(dense.raw(), expected.raw(), expected.byte_size()), 0)
      << TypeAndShape(expected);
}

// True if kernels that move data accept the type: all types but packed ones and strings.
inline bool MovesAsBytes(DataType type) { return type != DataType::kString && BitWidth(type) >= 8; }

// Expects the kernel to return exactly the reference's outputs. It may refuse only types (of the
// first output) for which MovesAsBytes is false.
inline void ExpectKernelSame(const OpTester& op) {
  const absl::StatusOr<std::vector<Tensor>> expected = op.Reference();
  ASSERT_TRUE(expected.ok()) << expected.status();
  const absl::StatusOr<std::vector<Tensor>> actual = op.Kernel();
  if (absl::IsFailedPrecondition(actual.status()) && !MovesAsBytes((*expected)[0].type())) return;
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t i = 0; i < actual->size(); ++i) ExpectSame((*actual)[i], (*expected)[i]);
}

// Expects both engines to refuse the node with this message.
inline void ExpectError(const OpTester& op, const std::string& message) {
  EXPECT_EQ(op.Reference().status().message(), message);
  const absl::Status kernel = op.Kernel().status();
  if (absl::IsFailedPrecondition(kernel)) return;
  EXPECT_EQ(kernel.message(), message);
}

inline Tensor Ints(const std::vector<int64_t>& values) {
  return Make<int64_t>({static_cast<int64_t>(values.size())}, values);
}

inline Tensor ScalarInt(int64_t value) { return Make<int64_t>({}, {value}); }

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_ANY_TYPE_H_
