// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_TYPE_SET_H_
#define ATTNRUN_OPS_INTERFACE_TYPE_SET_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "ops/interface/op_context.h"

namespace attnrun::ops {

// A set of element types: the type constraint of an operator. The elementwise operators take the
// types of their newest version in every version, since exporters do not always keep to the older
// and narrower constraints.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<DataType> types) {
    for (const DataType type : types) bits_ |= Bit(type);
  }

  constexpr bool Contains(DataType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  // The names of the types: "int32, int64".
  std::string ToString() const;

 private:
  static constexpr uint32_t Bit(DataType type) { return 1U << static_cast<uint32_t>(type); }
  uint32_t bits_ = 0;
};

inline constexpr TypeSet kFloats = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16,
                                    DataType::kDouble};
inline constexpr TypeSet kSignedIntegers = {DataType::kInt8, DataType::kInt16, DataType::kInt32,
                                            DataType::kInt64};
inline constexpr TypeSet kUnsignedIntegers = {DataType::kUint8, DataType::kUint16,
                                              DataType::kUint32, DataType::kUint64};
inline constexpr TypeSet kIntegers = kSignedIntegers | kUnsignedIntegers;
inline constexpr TypeSet kNumbers = kFloats | kIntegers;
inline constexpr TypeSet kBools = {DataType::kBool};
inline constexpr TypeSet kStrings = {DataType::kString};
inline constexpr TypeSet kFloat8s = {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ,
                                     DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ};

// kInvalidArgument naming the input and both sides unless input i has a type of `allowed`.
absl::Status CheckType(const OpContext& context, int i, TypeSet allowed);

// kInvalidArgument unless inputs i and j are of one type.
absl::Status CheckSameType(const OpContext& context, int i, int j);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_TYPE_SET_H_
