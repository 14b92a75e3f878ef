// SPDX-License-Identifier: Apache-2.0
// Row functions (see rows.h) made from functions of vectors. Included once per Highway target.
#if defined(ATTNRUN_OPS_ELEMENTWISE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ELEMENTWISE_ROWS_INL_H_
#undef ATTNRUN_OPS_ELEMENTWISE_ROWS_INL_H_
#else
#define ATTNRUN_OPS_ELEMENTWISE_ROWS_INL_H_
#endif

#include "hwy/highway.h"
#include "ops/elementwise/rows.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The last vector of a row is partial but computed by the same code, so that an element's bits do
// not depend on its place in the row.
template <typename T, class F>
void MapRow(const RowOperand* operands, void* out, size_t n, const RowParameters& parameters) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto* x = static_cast<const T*>(operands[0].data);
  const size_t mask = operands[0].mask;
  auto* y = static_cast<T*>(out);
  for (size_t i = 0; i < n; i += lanes) {
    const T* from = x + (i & mask);
    const size_t left = n - i;
    const auto v = HWY_LIKELY(left >= lanes) ? hn::LoadU(d, from) : hn::LoadN(d, from, left);
    const auto result = F{}(d, v, parameters);
    if (HWY_LIKELY(left >= lanes)) {
      hn::StoreU(result, d, y + i);
    } else {
      hn::StoreN(result, d, y + i, left);
    }
  }
}

// Row1<T>([](auto d, auto x, const RowParameters& p) HWY_ATTR { ... })
template <typename T, class F>
RowFunction Row1(F /*function*/) {
  return MapRow<T, F>;
}

// Row2<T>([](auto d, auto a, auto b) HWY_ATTR { ... })
template <typename T, class F>
void MapRow2(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const T*>(operands[0].data);
  const auto* b = static_cast<const T*>(operands[1].data);
  const size_t mask_a = operands[0].mask;
  const size_t mask_b = operands[1].mask;
  auto* y = static_cast<T*>(out);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(F{}(d, hn::LoadU(d, a + (i & mask_a)), hn::LoadU(d, b + (i & mask_b))), d, y + i);
  }
  if (i == n) return;
  const size_t left = n - i;
  const auto last =
      F{}(d, hn::LoadN(d, a + (i & mask_a), left), hn::LoadN(d, b + (i & mask_b), left));
  hn::StoreN(last, d, y + i, left);
}

template <typename T, class F>
RowFunction Row2(F /*function*/) {
  return MapRow2<T, F>;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ATTNRUN_OPS_ELEMENTWISE_ROWS_INL_H_
