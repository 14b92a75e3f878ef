// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_DYNAMIC_QUANTIZE_LSTM_H_
#define ATTNRUN_OPS_RECURRENT_DYNAMIC_QUANTIZE_LSTM_H_

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/recurrent/recurrent.h"

namespace attnrun::ops {

// com.microsoft DynamicQuantizeLSTM-1 (X [T, B, I], W [D, I, 4*H], R [D, H, 4*H], bias? [D, 8*H],
// sequence_lens? [B], initial_h? [D, B, H], initial_c?, P? [D, 3*H], W_scale, W_zero_point,
// R_scale, R_zero_point) -> (Y? [T, D, B, H], Y_h?, Y_c?): an LSTM whose W and R are int8 or uint8
// and stand for (W - zero_point) * scale, with one scale and zero point per direction ([D]) or per
// column ([D, 4*H]). X, as far as the longest sequence goes, and the hidden states of all samples
// before each step are rounded as by DynamicQuantizeLinear; the states of a sequence that ended
// before the last step count as zeros. ONNX Runtime does the same, but if it splits the samples
// among threads it rounds the states of each share by their own range.
class DynamicQuantizeLstm final : public Op {
 public:
  explicit DynamicQuantizeLstm(AttributeReader& attributes);

  enum Input {
    kX,
    kW,
    kR,
    kBias,
    kLengths,
    kInitialH,
    kInitialC,
    kPeepholes,
    kWScale,
    kWZeroPoint,
    kRScale,
    kRZeroPoint
  };

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  absl::Status status_;
  const RecurrentAttributes attributes_;
  // The attributes of each direction's LSTM, for the reference.
  std::vector<AttributeMap> of_directions_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_DYNAMIC_QUANTIZE_LSTM_H_
