// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_GATES_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_GATES_H_

#include <cstdint>

#include "ops/recurrent/recurrent.h"

// The element-wise part of a step of one sequence, on vectors.
namespace attnrun::ops {

// The gates of one step. Each of `input` and `state` holds a row of H floats for each gate.
struct GateRows {
  int64_t hidden;
  // x·Wᵀ and the biases.
  const float* input;
  // h·Rᵀ.
  const float* state;
  // The functions of one direction: f, or f g, or f g h; and their clip.
  const RecurrentAttributes::Function* functions;
  float clip;
};

// h = f(input + state).
void StepRnn(const GateRows& rows, float* h);

// c and h from the gates i o f c. `peepholes` (i o f) is null for none.
void StepLstm(const GateRows& rows, const float* peepholes, bool input_forget, float* c, float* h);

// h from the gates z r h. `candidate` is the row of h·Rᵀ for the gate h, which is multiplied by r;
// or, if `is_reset`, (r h)·Rᵀ already.
void StepGru(const GateRows& rows, const float* candidate, bool is_reset, float* h);

// damped = r h, from the gate r.
void ResetGru(const GateRows& rows, const float* h, float* damped);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_GATES_H_
