// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent_steps.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/interrupt.h"

namespace attnrun::ops {
namespace {

// Runs the steps of one direction and of the samples [begin, end).
class Steps {
 public:
  Steps(const RecurrentAttributes& attributes, const RecurrentExtents& extents,
        const RecurrentOperands& operands, int64_t direction)
      : a_(attributes),
        e_(extents),
        o_(operands),
        d_(direction),
        reverse_(attributes.IsReverse(direction)),
        functions_(attributes.functions.data() + attributes.FirstFunction(direction)) {}

  void Run(int64_t begin, int64_t end, float* scratch) {
    begin_ = begin;
    end_ = end;
    products_ = scratch;
    damped_ = scratch + (end - begin) * e_.columns;
    std::fill_n(damped_, (end - begin) * e_.hidden, 0.0F);
    const int64_t steps = *std::max_element(o_.lengths.begin() + begin, o_.lengths.begin() + end);
    for (int64_t i = 0; i < steps && !Interrupted(); ++i) Step(i);
  }

 private:
  void Step(int64_t i) {
    Epilogue epilogue;
    if (o_.state_bias != nullptr) epilogue.bias = o_.state_bias + d_ * e_.columns;
    Multiply(States(i), o_.weights.state[d_], products_, e_.columns, epilogue);
    const bool resets = ResetsBeforeProduct(a_);
    if (resets) {
      ForEachSample(i, [&](int64_t b, int64_t /*t*/, const GateRows& rows) {
        ResetGru(rows, H(b), damped_ + (b - begin_) * e_.hidden);
      });
      Multiply({damped_, end_ - begin_, e_.hidden, e_.hidden}, o_.weights.candidate[d_],
               products_ + 2 * e_.hidden, e_.columns, {});
    }
    ForEachSample(i, [&](int64_t b, int64_t t, const GateRows& rows) {
      float* const h = H(b);
      if (a_.cell == Cell::kLstm) {
        const float* const peepholes =
            o_.peepholes == nullptr ? nullptr : o_.peepholes + d_ * 3 * e_.hidden;
        StepLstm(rows, peepholes, a_.input_forget, o_.c + (h - o_.h), h);
      } else if (a_.cell == Cell::kGru) {
        StepGru(rows, rows.state + 2 * e_.hidden, resets, h);
      } else {
        StepRnn(rows, h);
      }
      if (o_.y != nullptr) std::copy_n(h, e_.hidden, o_.y + e_.YRow(t, d_, b) * e_.hidden);
    });
  }

  // The states before step i. Integers are rounded by the range of all rows: there, states of
  // sequences that ended before the last step count as zeros, as they do in Y.
  MatrixView States(int64_t i) {
    const int64_t rows = end_ - begin_;
    const int64_t step = e_.batch_first ? e_.directions * e_.hidden : e_.hidden;
    const auto has_ended = [i](int64_t length) { return i > length; };
    if (o_.weights.form == WeightForm::kOnnx || !absl::c_any_of(o_.lengths, has_ended)) {
      return {H(begin_), rows, e_.hidden, step};
    }
    for (int64_t b = begin_; b < end_; ++b) {
      float* const to = damped_ + (b - begin_) * e_.hidden;
      std::copy_n(H(b), e_.hidden, to);
      if (has_ended(o_.lengths[b])) std::fill_n(to, e_.hidden, 0.0F);
    }
    return {damped_, rows, e_.hidden, e_.hidden};
  }

  // Calls visit(b, t, rows) for the samples that have an i-th step, at time t.
  template <typename Visit>
  void ForEachSample(int64_t i, Visit visit) const {
    for (int64_t b = begin_; b < end_; ++b) {
      if (i >= o_.lengths[b]) continue;
      const int64_t t = reverse_ ? o_.lengths[b] - 1 - i : i;
      visit(b, t,
            GateRows{.hidden = e_.hidden,
                     .input = o_.input + (e_.XRow(t, b) * e_.directions + d_) * e_.columns,
                     .state = products_ + (b - begin_) * e_.columns,
                     .functions = functions_,
                     .clip = a_.clip});
    }
  }

  float* H(int64_t b) const { return o_.h + e_.StateRow(d_, b) * e_.hidden; }

  const RecurrentAttributes& a_;
  const RecurrentExtents& e_;
  const RecurrentOperands& o_;
  const int64_t d_;
  const bool reverse_;
  const RecurrentAttributes::Function* const functions_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  // h·Rᵀ; and r h, or a copy of the states.
  float* products_ = nullptr;
  float* damped_ = nullptr;
};

}  // namespace

void RunSteps(const RecurrentAttributes& a, const RecurrentExtents& e,
              const RecurrentOperands& operands, int64_t direction, int64_t begin, int64_t end,
              float* scratch) {
  Steps(a, e, operands, direction).Run(begin, end, scratch);
}

}  // namespace attnrun::ops
