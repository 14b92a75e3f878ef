// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/recurrent/recurrent_gates.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <algorithm>

#include "hwy/highway.h"
#include "ops/recurrent/recurrent_gates.h"
#include "ops/tensors/vector_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using Function = RecurrentAttributes::Function;

// The functions that models rarely use. Apart from the others, so that those stay short.
HWY_NOINLINE FloatVec RareFunction(const Function& f, FloatVec x) {
  const FloatTag d;
  const FloatVec zero = hn::Zero(d);
  const FloatVec one = hn::Set(d, 1.0F);
  const FloatVec alpha = hn::Set(d, f.alpha);
  const FloatVec beta = hn::Set(d, f.beta);
  switch (f.function) {
    case GateFunction::kRelu:
      return IfNegative(d, x, zero);
    case GateFunction::kSoftsign:
      return hn::Div(x, hn::Add(one, hn::Abs(x)));
    case GateFunction::kSoftplus:
      return Softplus(d, x);
    case GateFunction::kAffine:
      return hn::MulAdd(alpha, x, beta);
    case GateFunction::kLeakyRelu:
      return IfNegative(d, x, hn::Mul(alpha, x));
    case GateFunction::kThresholdedRelu:
      return hn::IfThenElseZero(hn::Ge(x, alpha), x);
    case GateFunction::kScaledTanh:
      return hn::Mul(alpha, hn::Tanh(d, hn::Mul(beta, x)));
    case GateFunction::kHardSigmoid:
      return Clamp01(d, hn::MulAdd(alpha, x, beta));
    default:  // kElu
      return IfNegative(d, x, hn::Mul(alpha, AnyExpm1(d, x)));
  }
}

HWY_INLINE FloatVec Activate(const Function& f, float clip, FloatVec x) {
  const FloatTag d;
  if (clip > 0) {
    const FloatVec high = hn::Set(d, clip);
    const FloatVec low = hn::Neg(high);
    x = hn::IfThenElse(hn::Gt(x, high), high, x);
    x = hn::IfThenElse(hn::Lt(x, low), low, x);
  }
  if (f.function == GateFunction::kSigmoid) return Sigmoid(d, x);
  if (f.function == GateFunction::kTanh) return hn::Tanh(d, x);
  return RareFunction(f, x);
}

// Up to a vector of floats from unit `first` on, of the rows of one step.
class Units {
 public:
  Units(const GateRows& rows, int64_t first)
      : rows_(rows),
        first_(first),
        count_(std::min<size_t>(hn::Lanes(FloatTag()), rows.hidden - first)) {}

  FloatVec Load(const float* row) const { return hn::LoadN(FloatTag(), row + first_, count_); }
  void Store(FloatVec v, float* row) const { hn::StoreN(v, FloatTag(), row + first_, count_); }
  FloatVec Input(int64_t gate) const { return Load(rows_.input + gate * rows_.hidden); }
  // The sum of both products for a gate.
  FloatVec Sum(int64_t gate) const {
    return hn::Add(Input(gate), Load(rows_.state + gate * rows_.hidden));
  }
  FloatVec F(int index, FloatVec x) const {
    return Activate(rows_.functions[index], rows_.clip, x);
  }

 private:
  const GateRows& rows_;
  const int64_t first_;
  const size_t count_;
};

void RnnStep(const GateRows& rows, float* h) {
  for (int64_t u = 0; u < rows.hidden; u += hn::Lanes(FloatTag())) {
    const Units units(rows, u);
    units.Store(units.F(0, units.Sum(0)), h);
  }
}

void LstmStep(const GateRows& rows, const float* peepholes, bool input_forget, float* c, float* h) {
  const FloatTag d;
  const int64_t hidden = rows.hidden;
  for (int64_t u = 0; u < hidden; u += hn::Lanes(d)) {
    const Units units(rows, u);
    const FloatVec before = units.Load(c);
    // The sum of a gate i o f c, and its peephole times the state.
    const auto gate = [&](int64_t index, FloatVec state) HWY_ATTR {
      const FloatVec sum = units.Sum(index);
      if (peepholes == nullptr) return sum;
      return hn::MulAdd(units.Load(peepholes + index * hidden), state, sum);
    };
    const FloatVec in = units.F(0, gate(0, before));
    const FloatVec forget =
        input_forget ? hn::Sub(hn::Set(d, 1.0F), in) : units.F(0, gate(2, before));
    const FloatVec cell = hn::MulAdd(forget, before, hn::Mul(in, units.F(1, units.Sum(3))));
    units.Store(cell, c);
    units.Store(hn::Mul(units.F(0, gate(1, cell)), units.F(2, cell)), h);
  }
}

void GruReset(const GateRows& rows, const float* h, float* damped) {
  for (int64_t u = 0; u < rows.hidden; u += hn::Lanes(FloatTag())) {
    const Units units(rows, u);
    units.Store(hn::Mul(units.F(0, units.Sum(1)), units.Load(h)), damped);
  }
}

void GruStep(const GateRows& rows, const float* candidate, bool is_reset, float* h) {
  const FloatTag d;
  for (int64_t u = 0; u < rows.hidden; u += hn::Lanes(d)) {
    const Units units(rows, u);
    const FloatVec update = units.F(0, units.Sum(0));
    FloatVec state = units.Load(candidate);
    if (!is_reset) state = hn::Mul(units.F(0, units.Sum(1)), state);
    const FloatVec fresh = units.F(1, hn::Add(units.Input(2), state));
    const FloatVec kept = hn::Mul(update, units.Load(h));
    units.Store(hn::MulAdd(hn::Sub(hn::Set(d, 1.0F), update), fresh, kept), h);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(RnnStep);
HWY_EXPORT(LstmStep);
HWY_EXPORT(GruReset);
HWY_EXPORT(GruStep);

void StepRnn(const GateRows& rows, float* h) { HWY_DYNAMIC_DISPATCH(RnnStep)(rows, h); }

void StepLstm(const GateRows& rows, const float* peepholes, bool input_forget, float* c, float* h) {
  HWY_DYNAMIC_DISPATCH(LstmStep)(rows, peepholes, input_forget, c, h);
}

void StepGru(const GateRows& rows, const float* candidate, bool is_reset, float* h) {
  HWY_DYNAMIC_DISPATCH(GruStep)(rows, candidate, is_reset, h);
}

void ResetGru(const GateRows& rows, const float* h, float* damped) {
  HWY_DYNAMIC_DISPATCH(GruReset)(rows, h, damped);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
