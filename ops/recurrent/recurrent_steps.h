// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/recurrent_gates.h"
#include "ops/recurrent/recurrent_matrix.h"

// The parts of the recurrent kernel.
namespace attnrun::ops {

// The inputs of the operators.
enum RecurrentInput { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

// True for a GRU that multiplies its state by the gate r before the product with R.
inline bool ResetsBeforeProduct(const RecurrentAttributes& a) {
  return a.cell == Cell::kGru && !a.linear_before_reset;
}

// The extents of one call, in the letters of Recurrent.
struct RecurrentExtents {
  int64_t steps;
  int64_t batch;
  int64_t width;
  int64_t hidden;
  int64_t directions;
  // G * H: the columns of one direction's products.
  int64_t columns;
  bool batch_first;

  Shape StateShape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  Shape YShape() const {
    return batch_first ? Shape{batch, steps, directions, hidden}
                       : Shape{steps, directions, batch, hidden};
  }
  // The row of X of step t of sample b.
  int64_t XRow(int64_t t, int64_t b) const { return batch_first ? b * steps + t : t * batch + b; }
  // The row of states, and of Y.
  int64_t StateRow(int64_t d, int64_t b) const {
    return batch_first ? b * directions + d : d * batch + b;
  }
  int64_t YRow(int64_t t, int64_t d, int64_t b) const {
    return batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b;
  }
};

// The types and axes of W and R.
enum class WeightForm {
  // Those of X, [D, G*H, I] and [D, G*H, H].
  kOnnx,
  // 8-bit integers, [D, I, G*H] and [D, H, G*H].
  kIntegers,
};

// Nullopt if the inputs do not fit each other, which the reference reports, or are empty.
std::optional<RecurrentExtents> ExtentsOf(const RecurrentAttributes& a, WeightForm form,
                                          const OpContext& context);

// The number of steps of every sample; nullopt if sequence_lens does not fit.
std::optional<std::vector<int64_t>> LengthsOf(const RecurrentExtents& e, const OpContext& context);

// W and R, packed.
struct RecurrentWeights {
  WeightForm form = WeightForm::kOnnx;
  // [I, D * G * H].
  RecurrentMatrix input;
  // For each direction, the gates that the state before the step makes: [H, G * H], or [H, 2 * H].
  std::vector<RecurrentMatrix> state;
  // For each direction of a GRU that resets the state before its product, the gate h: [H, H].
  std::vector<RecurrentMatrix> candidate;
};

// Packs W and R of fitting extents, which are of float, float16 or bfloat16. Products with the
// state stay in float32, as their errors would add up from step to step.
absl::StatusOr<RecurrentWeights> PackWeights(const RecurrentAttributes& a, const Tensor& w,
                                             const Tensor& r, DataType stored,
                                             const KernelContext& context);

// The operands of the steps of one call.
struct RecurrentOperands {
  const RecurrentWeights& weights;
  absl::Span<const int64_t> lengths;
  // x·Wᵀ and the biases: [X's rows, D * G * H].
  const float* input;
  // The bias of a product with the state, [D, G * H]; null for none.
  const float* state_bias;
  // [D, 3 * H], or null.
  const float* peepholes;
  // The states, which the steps change; c is null but for LSTM.
  float* h;
  float* c;
  // Null if Y is not wanted.
  float* y;
};

// Runs the steps of one direction and of the samples [begin, end), which must be all of them if the
// weights are integers. `scratch` has ScratchFloats for each sample. An interrupted run ends early.
void RunSteps(const RecurrentAttributes& a, const RecurrentExtents& e,
              const RecurrentOperands& operands, int64_t direction, int64_t begin, int64_t end,
              float* scratch);
inline int64_t ScratchFloats(const RecurrentExtents& e) { return e.columns + e.hidden; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_
