// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_DYNAMIC_QUANTIZE_LSTM_H_
#define ATTNRUN_OPS_CONTRIB_DYNAMIC_QUANTIZE_LSTM_H_

#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft DynamicQuantizeLSTM-1 (X [T, B, I], W [D, I, 4*H], R [D, H, 4*H], bias? [D, 8*H],
// sequence_lens? [B], initial_h? [D, B, H], initial_c?, P? [D, 3*H], W_scale, W_zero_point,
// R_scale, R_zero_point) -> (Y? [T, D, B, H], Y_h?, Y_c?): an LSTM whose W and R are int8 or uint8
// and stand for (W - zero_point) * scale, with one scale and zero point per direction ([D]) or per
// column ([D, 4*H]). X, and the hidden states before each step, are rounded as by
// DynamicQuantizeLinear.
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

 private:
  std::string direction_;
  // The attributes of each direction's LSTM.
  std::vector<AttributeMap> attributes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_DYNAMIC_QUANTIZE_LSTM_H_
