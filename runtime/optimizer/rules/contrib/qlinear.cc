// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/qlinear.h"

#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {

//   A  A_scale  A_zero_point   B  B_scale  B_zero_point           A                   B
//    \     |          |         |     |       /            DequantizeLinear   DequantizeLinear
//                  QLinearAdd                        ->                \       /
//                      |                                                 Add
//                      C                                                  |
//                                                                  QuantizeLinear
//                                                                         |
//                                                                         C
bool ExpandQLinear(Expansion& e) {
  ops::AttributeReader attributes(e.node(), e.node().opset());
  const ops::QLinearForm form = ops::QLinearForm::Read(attributes);
  for (const ops::QLinearForm::Operand& operand : form.operands) {
    if (e.input(operand.value) == nullptr) return e.Decline("an operand is left out");
  }
  Value* x = e.input(form.operands.back().value);
  const int rank = e.facts().RankOf(x);
  const DataType type = e.TypeOf(x);
  if (form.channels_last && rank < 2) return e.Decline("the rank of its input is not known");
  if (type == DataType::kUndefined) return e.Decline("the type of its input is not known");
  const auto op = [&](const std::string& op_type, std::vector<Value*> inputs, AttributeMap map) {
    return e.Op(op_type, std::move(inputs), std::move(map));
  };
  const auto input = [&](int i) { return i < 0 ? nullptr : e.input(i); };
  return e.Give(ops::QLinearWriter<Value*>{op, input, type, rank}.Write(form));
}

bool ExpandContribQuantization(Expansion& e) {
  return e.Give(e.Op(e.node().op_type(), e.node().inputs(), e.node().attributes()));
}

}  // namespace attnrun::opt
