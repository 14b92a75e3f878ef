// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/split_to_sequence.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

class SplitToSequenceKernel final : public Kernel {
 public:
  explicit SplitToSequenceKernel(const SplitToSequence& op) : op_(op) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }
  absl::Status Run(OpContext& context) const override { return op_.Cut(context, MoveView); }

 private:
  const SplitToSequence op_;
};

// The extents of the pieces of an axis.
struct Pieces {
  // One per piece, if they are given so.
  std::vector<int64_t> list;
  // Otherwise the extent of every piece, but for the last.
  int64_t each = 1;

  int64_t Next(size_t piece, int64_t left) const {
    return list.empty() ? std::min(each, left) : list[piece];
  }
};

absl::Status CheckList(const std::vector<int64_t>& list, int64_t extent) {
  int64_t left = extent;
  bool fits = true;
  for (const int64_t piece : list) {
    fits = fits && piece >= 0 && piece <= left;
    if (fits) left -= piece;
  }
  if (fits && left == 0) return absl::OkStatus();
  constexpr size_t kShown = 20;
  const auto shown = absl::MakeSpan(list).first(std::min(list.size(), kShown));
  return absl::InvalidArgumentError(absl::StrCat("split [", absl::StrJoin(shown, ","),
                                                 list.size() > kShown ? ",..." : "",
                                                 "] does not cut an axis of extent ", extent));
}

absl::StatusOr<Pieces> ReadPieces(const Tensor& split, int64_t extent) {
  if ((split.type() != DataType::kInt64 && split.type() != DataType::kInt32) || split.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("split must be int64 or int32 of rank 0 or 1, but is ", TypeAndShape(split)));
  }
  Pieces pieces;
  ATTNRUN_ASSIGN_OR_RETURN(pieces.list, ToInts(split));
  if (split.rank() == 1) {
    ATTNRUN_RETURN_IF_ERROR(CheckList(pieces.list, extent));
    return pieces;
  }
  pieces.each = pieces.list[0];
  pieces.list.clear();
  if (pieces.each > 0) return pieces;
  return absl::InvalidArgumentError(absl::StrCat("split must be at least 1, but is ", pieces.each));
}

}  // namespace

SplitToSequence::SplitToSequence(AttributeReader& attributes)
    : axis_(attributes.Int("axis", 0)),
      keepdims_(attributes.Int("keepdims", 1) != 0 || attributes.node().input(1) != nullptr) {}

absl::Status SplitToSequence::Cut(OpContext& context,
                                  absl::Status (*move)(OpContext&, int, const Tensor&,
                                                       const StridedView&)) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  const int64_t extent = data.dim(axis);
  Pieces pieces;
  if (context.has_input(1)) {
    ATTNRUN_ASSIGN_OR_RETURN(pieces, ReadPieces(context.input(1), extent));
  }
  const Shape strides = StridesOf(data);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor sequence, Tensor::Sequence(data.type(), {}, context.allocator()));
  const auto num_listed = static_cast<int64_t>(pieces.list.size());
  int64_t start = 0;
  const auto more = [&](int64_t i) { return num_listed > 0 ? i < num_listed : start < extent; };
  for (int64_t i = 0; more(i) && !Interrupted(); ++i) {
    StridedView view = {data.shape(), data.shape(), strides, start * strides[axis]};
    const int64_t length = pieces.Next(i, extent - start);
    view.shape[axis] = length;
    view.extents[axis] = length;
    if (!keepdims_) view.shape.erase(view.shape.begin() + axis);
    Tensor piece;
    OpContext one({}, absl::MakeSpan(&piece, 1), context.allocator());
    ATTNRUN_RETURN_IF_ERROR(move(one, 0, data, view));
    ATTNRUN_ASSIGN_OR_RETURN(sequence, sequence.Appended(piece, context.allocator()));
    start += length;
  }
  context.SetOutput(0, std::move(sequence));
  return absl::OkStatus();
}

absl::Status SplitToSequence::Reference(OpContext& context) const {
  return Cut(context, MoveViewReference);
}

void SplitToSequence::Infer(InferContext& context) const {
  context.SetOutput(0, {context.input(0).type, std::nullopt, std::nullopt});
}

absl::StatusOr<std::unique_ptr<Kernel>> SplitToSequence::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<SplitToSequenceKernel>(*this);
}

}  // namespace attnrun::ops
