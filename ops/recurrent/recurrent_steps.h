// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/gemm/packed_matrix.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/recurrent_gates.h"

// The parts of the recurrent kernel.
namespace attnrun::ops {

// The inputs of the operators.
enum RecurrentInput { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

int64_t GatesOf(Cell cell);
// True for a GRU that multiplies its state by the gate r before the product with R.
inline bool ResetsBeforeProduct(const Recurrent::Attributes& a) {
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

// Nullopt if the inputs do not fit each other, which the reference reports, or are empty.
std::optional<RecurrentExtents> ExtentsOf(const Recurrent::Attributes& a, const OpContext& context);

// The number of steps of every sample; nullopt if sequence_lens does not fit.
std::optional<std::vector<int64_t>> LengthsOf(const RecurrentExtents& e, const OpContext& context);

// W and R, packed.
struct RecurrentWeights {
  // [I, D * G * H].
  std::shared_ptr<const PackedMatrix> input;
  // For each direction, the gates that the state before the step makes: [H, G * H], or [H, 2 * H].
  std::vector<std::shared_ptr<const PackedMatrix>> state;
  // For each direction of a GRU that resets the state before its product, the gate h: [H, H].
  std::vector<std::shared_ptr<const PackedMatrix>> candidate;
};

// Packs floats W and R of fitting extents. Products with the state stay in float32, as their
// errors would add up from step to step.
absl::StatusOr<RecurrentWeights> PackWeights(const Recurrent::Attributes& a, const Tensor& w,
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

// Runs the steps of one direction and of the samples [begin, end). `functions` are those of all
// directions; `scratch` has ScratchFloats for each sample. An interrupted run ends early.
void RunSteps(const Recurrent::Attributes& a, absl::Span<const GateActivation> functions,
              const RecurrentExtents& e, const RecurrentOperands& operands, int64_t direction,
              int64_t begin, int64_t end, float* scratch);
inline int64_t ScratchFloats(const RecurrentExtents& e) { return e.columns + e.hidden; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_STEPS_H_
