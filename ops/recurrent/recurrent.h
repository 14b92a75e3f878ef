// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_H_

#include <memory>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class Cell { kRnn, kGru, kLstm };

enum class GateFunction {
  kTanh,
  kSigmoid,
  kRelu,
  kSoftsign,
  kSoftplus,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
};

// The attributes of RNN, GRU and LSTM.
struct RecurrentAttributes {
  struct Function {
    GateFunction function;
    float alpha = 0;
    float beta = 0;
  };

  Cell cell;
  int64_t hidden_size = 0;
  bool forward = true;
  bool reverse = false;
  bool batch_first = false;
  bool linear_before_reset = false;
  bool input_forget = false;
  // Arguments of functions are clipped to [-clip, clip]; 0: they are not.
  float clip = 0;
  // The functions of the forward, then the reverse direction; each has as many as the cell uses.
  std::vector<Function> functions;

  int64_t gates() const { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }
  int64_t directions() const { return forward && reverse ? 2 : 1; }
  // True if direction d reads the sequences from their ends.
  bool IsReverse(int64_t d) const { return reverse && (d == 1 || !forward); }
  // The place in `functions` of the first of direction d.
  int64_t FirstFunction(int64_t d) const {
    return d * static_cast<int64_t>(functions.size()) / directions();
  }
};

// Reads the attributes of a node. Sets `status` if one is invalid.
RecurrentAttributes ReadRecurrentAttributes(AttributeReader& attributes, Cell cell,
                                            absl::Status& status);

// ONNX RNN, GRU and LSTM, versions 7, 14 and 22 (X [T,B,I], W [D,G*H,I], R [D,G*H,H], bias?
// [D,2*G*H], sequence_lens? [B], initial_h? [D,B,H]; LSTM also initial_c? [D,B,H] and peepholes?
// [D,3*H]) -> (Y? [T,D,B,H], Y_h? [D,B,H]; LSTM also Y_c?). T is the number of steps, D is 2 if
// bidirectional, else 1, and G is the number of gates: 1, 3 (z r h) or 4 (i o f c). With layout = 1
// the batch axis comes first throughout.
class Recurrent final : public Op {
 public:
  Recurrent(AttributeReader& attributes, Cell cell);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  absl::Status status_;
  const RecurrentAttributes attributes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_H_
