// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_NARROW_FORM_H_
#define ATTNRUN_OPS_ATTENTION_NARROW_FORM_H_

#include <cstdint>

namespace attnrun::ops {

// How a row of keys or values holds its numbers.
enum class NarrowForm {
  kFloats,
  kBfloat16,
  kFloat16,
  // int8 [H + 4], as attnrun.QuantizeRows makes them: each stands for itself times the row's scale.
  kScaledBytes,
  // int8 [H]: each stands for itself.
  kBytes,
  // uint8 [H / 2]: each byte holds two numbers from -8 to 7, to which 8 is added, the first one in
  // its low half.
  kPairs,
};

// The bytes of an element of such rows.
constexpr int64_t ElementBytes(NarrowForm form) {
  if (form == NarrowForm::kFloats) return sizeof(float);
  return form == NarrowForm::kBfloat16 || form == NarrowForm::kFloat16 ? 2 : 1;
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_NARROW_FORM_H_
