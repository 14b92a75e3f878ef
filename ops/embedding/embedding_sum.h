// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_EMBEDDING_EMBEDDING_SUM_H_
#define ATTNRUN_OPS_EMBEDDING_EMBEDDING_SUM_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.EmbeddingSum-1, made by the optimizer (table_1, ids_1, table_2, ids_2, ..., positions?):
//
//   y[..., s, d] = table_1[ids_1[..., s], d] + table_2[ids_2[..., s], d] + ... + positions[s, d]
//
// added in that order. Tables [V_i, D] and positions [P, D], P >= S, are floats of one type; ids
// are int32 or int64 [..., S], all of one shape. Negative ids count from the end of their table. An
// odd number of inputs means that positions are given.
class EmbeddingSum final : public Op {
 public:
  explicit EmbeddingSum(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The shape of y. kInvalidArgument if inputs do not fit each other or ids are out of range.
  static absl::StatusOr<Shape> Resolve(const OpContext& context);
  // The number of pairs of table and ids among this many inputs.
  static int Pairs(int inputs) { return inputs / 2; }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EMBEDDING_EMBEDDING_SUM_H_
