// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent_steps.h"

#include <algorithm>

#include "core/interrupt.h"
#include "ops/gemm/gemm.h"

namespace attnrun::ops {
namespace {

// Runs the steps of one direction and of the samples [begin, end).
class Steps {
 public:
  Steps(const Recurrent::Attributes& attributes, absl::Span<const GateActivation> functions,
        const RecurrentExtents& extents, const RecurrentOperands& operands, int64_t direction)
      : a_(attributes),
        e_(extents),
        o_(operands),
        d_(direction),
        reverse_(attributes.reverse && (direction == 1 || !attributes.forward)),
        functions_(functions.data() +
                   direction * (static_cast<int64_t>(functions.size()) / extents.directions)) {}

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
    const int64_t step = e_.batch_first ? e_.directions * e_.hidden : e_.hidden;
    Epilogue epilogue;
    if (o_.state_bias != nullptr) epilogue.bias = o_.state_bias + d_ * e_.columns;
    Gemm({H(begin_), end_ - begin_, e_.hidden, step}, *o_.weights.state[d_], products_, e_.columns,
         epilogue);
    const bool resets = ResetsBeforeProduct(a_);
    if (resets) {
      ForEachSample(i, [&](int64_t b, int64_t /*t*/, const GateRows& rows) {
        ResetGru(rows, H(b), damped_ + (b - begin_) * e_.hidden);
      });
      Gemm({damped_, end_ - begin_, e_.hidden, e_.hidden}, *o_.weights.candidate[d_],
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
                     .functions = functions_});
    }
  }

  float* H(int64_t b) const { return o_.h + e_.StateRow(d_, b) * e_.hidden; }

  const Recurrent::Attributes& a_;
  const RecurrentExtents& e_;
  const RecurrentOperands& o_;
  const int64_t d_;
  const bool reverse_;
  const GateActivation* const functions_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  // h·Rᵀ, and r h.
  float* products_ = nullptr;
  float* damped_ = nullptr;
};

}  // namespace

void RunSteps(const Recurrent::Attributes& a, absl::Span<const GateActivation> functions,
              const RecurrentExtents& e, const RecurrentOperands& operands, int64_t direction,
              int64_t begin, int64_t end, float* scratch) {
  Steps(a, functions, e, operands, direction).Run(begin, end, scratch);
}

}  // namespace attnrun::ops
