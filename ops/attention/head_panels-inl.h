// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_HEAD_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_HEAD_PANELS_INL_H_
#undef ATTNRUN_OPS_ATTENTION_HEAD_PANELS_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_HEAD_PANELS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/whole_rows_layout.h"
#include "ops/gemm/amx.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// The offset of the first channel of a position of a head.
inline int64_t OffsetOf(const HeadStrides& strides, int64_t sample, int64_t head,
                        int64_t position) {
  return sample * strides.batch + head * strides.head + position * strides.sequence;
}

// Calls use(pointer) with the element at an offset, in floats or, if `halves` is not null, in bf16.
template <typename Use>
void WithElement(const float* floats, const uint16_t* halves, int64_t offset, Use use) {
  if (halves != nullptr) {
    use(halves + offset);
  } else {
    use(floats + offset);
  }
}

// Keys and values of one head, packed as panels of B for products in bf16 on AMX.
class HeadPanels {
 public:
  HeadPanels(const AttentionProblem& problem, const WholeRowsLayout& layout, uint8_t* scratch)
      : p_(problem), layout_(layout), scratch_(scratch) {}

  // The sample whose head is packed.
  int64_t sample() const { return sample_; }

  // Packs the head of a block, if it is not the last one that was.
  void Pack(const QueryBlock& block) {
    if (block.sample == sample_ && block.kv_head == kv_head_) return;
    sample_ = block.sample;
    kv_head_ = block.kv_head;
    greatest_key_ = -1;
    const int64_t filled = Filled();
    for (int64_t key = 0; key < layout_.padded_keys; key += kAmxPanelWidth) {
      const int64_t count = std::max<int64_t>(filled - key, 0);
      WithKey(key, [&](auto* keys) { PackKeys(keys, key, count); });
      WithValue(key, [&](auto* values) { PackValues(values, key, count); });
    }
  }

  // The panel of the keys from `key` on, and that of the values' channels from `column` on, with
  // steps from `key` on. Both are multiples of kAmxPanelWidth.
  uint8_t* Keys(int64_t key) const {
    return scratch_ + layout_.keys + key / kAmxPanelWidth * layout_.KeyPanel();
  }
  uint8_t* Values(int64_t column, int64_t key) const {
    return scratch_ + layout_.values + column / kAmxPanelWidth * layout_.ValuePanel() +
           key / kAmxBf16Step * kAmxPanelBytes;
  }

  // Calls use(pointer) with the values of a key.
  template <typename Use>
  void WithValue(int64_t t, Use use) const {
    WithElement(p_.v, p_.bf16_v, OffsetOf(p_.v_strides, sample_, kv_head_, t), use);
  }

  // The greatest magnitude in the keys; NaN if one of them is NaN.
  float GreatestKey() {
    if (greatest_key_ >= 0 || std::isnan(greatest_key_)) return greatest_key_;
    greatest_key_ = 0;
    for (int64_t t = 0; t < ValidKeys(p_, sample_); ++t) {
      WithKey(t, [&](auto* key) HWY_ATTR {
        greatest_key_ = GreatestMagnitude(key, static_cast<size_t>(p_.head_size), greatest_key_);
      });
    }
    return greatest_key_;
  }

 private:
  template <typename Use>
  void WithKey(int64_t t, Use use) const {
    WithElement(p_.k, p_.bf16_k, OffsetOf(p_.k_strides, sample_, kv_head_, t), use);
  }

  // The number of keys, but for those that position masks for all queries: what a cache holds
  // behind its end may be anything.
  int64_t Filled() const {
    const int64_t valid = ValidKeys(p_, sample_);
    if (p_.mask_value != kMinusInfinity) return valid;
    return std::min(valid, UnmaskedKeys(p_, sample_, p_.queries - 1).end);
  }

  template <typename T>
  void PackKeys(const T* keys, int64_t key, int64_t count) const {
    for (int64_t step = 0; step < layout_.head_steps; ++step) {
      PackBf16TransposedStep(keys, p_.k_strides.sequence, count, step * kAmxBf16Step, p_.head_size,
                             Keys(key) + step * kAmxPanelBytes);
    }
  }

  template <typename T>
  void PackValues(const T* values, int64_t key, int64_t count) const {
    for (int64_t column = 0; column < p_.value_size; column += kAmxPanelWidth) {
      PackBf16Step(values + column, p_.v_strides.sequence, count, p_.value_size - column,
                   Values(column, key));
    }
  }

  const AttentionProblem& p_;
  const WholeRowsLayout& layout_;
  uint8_t* const scratch_;
  int64_t sample_ = -1;
  int64_t kv_head_ = -1;
  // The result of GreatestKey; below 0 until it is asked for.
  float greatest_key_ = -1;
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
