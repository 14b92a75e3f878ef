// SPDX-License-Identifier: Apache-2.0
#include "attnrun/data_type.h"

#include <array>
#include <string>

#include "attnrun/tensor.h"

namespace attnrun {
namespace {

enum class Kind : uint8_t { kNone, kFloating, kSigned, kUnsigned, kOther };

struct Facts {
  absl::string_view name;
  int bits;
  Kind kind;
};

// Indexed by the value of the enumerator.
constexpr std::array<Facts, 27> kFacts = {{
    {"undefined", 0, Kind::kNone},
    {"float", 32, Kind::kFloating},
    {"uint8", 8, Kind::kUnsigned},
    {"int8", 8, Kind::kSigned},
    {"uint16", 16, Kind::kUnsigned},
    {"int16", 16, Kind::kSigned},
    {"int32", 32, Kind::kSigned},
    {"int64", 64, Kind::kSigned},
    {"string", 8 * sizeof(std::string), Kind::kOther},
    {"bool", 8, Kind::kOther},
    {"float16", 16, Kind::kFloating},
    {"double", 64, Kind::kFloating},
    {"uint32", 32, Kind::kUnsigned},
    {"uint64", 64, Kind::kUnsigned},
    {"complex64", 64, Kind::kOther},
    {"complex128", 128, Kind::kOther},
    {"bfloat16", 16, Kind::kFloating},
    {"float8e4m3fn", 8, Kind::kFloating},
    {"float8e4m3fnuz", 8, Kind::kFloating},
    {"float8e5m2", 8, Kind::kFloating},
    {"float8e5m2fnuz", 8, Kind::kFloating},
    {"uint4", 4, Kind::kUnsigned},
    {"int4", 4, Kind::kSigned},
    {"float4e2m1", 4, Kind::kFloating},
    {"float8e8m0", 8, Kind::kFloating},
    {"uint2", 2, Kind::kUnsigned},
    {"int2", 2, Kind::kSigned},
}};

constexpr Facts kSequenceFacts = {"sequence", 8 * sizeof(Tensor), Kind::kNone};

const Facts& FactsOf(DataType type) {
  if (type == DataType::kSequence) return kSequenceFacts;
  const auto index = static_cast<size_t>(type);
  return kFacts[index < kFacts.size() ? index : 0];
}

}  // namespace

bool IsValid(DataType type) { return FactsOf(type).kind != Kind::kNone; }
absl::string_view Name(DataType type) { return FactsOf(type).name; }
int BitWidth(DataType type) { return FactsOf(type).bits; }
bool IsFloatingPoint(DataType type) { return FactsOf(type).kind == Kind::kFloating; }
bool IsSignedInteger(DataType type) { return FactsOf(type).kind == Kind::kSigned; }

bool IsInteger(DataType type) {
  const Kind kind = FactsOf(type).kind;
  return kind == Kind::kSigned || kind == Kind::kUnsigned;
}

}  // namespace attnrun
