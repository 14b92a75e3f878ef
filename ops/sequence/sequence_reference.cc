// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/sequence/sequence.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// A position among `places` places, counted from 0. Input 1 or 2 may count from the end.
absl::StatusOr<int64_t> ReadPosition(const Tensor& input, const Tensor& sequence, int64_t places) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t position, ReadInt(input, "the position"));
  const int64_t count = sequence.num_elements();
  if (position >= -count && position < places) return position < 0 ? position + count : position;
  return absl::InvalidArgumentError(absl::StrCat("the position must be from ", -count, " to ",
                                                 places - 1, " in ", TypeAndShape(sequence),
                                                 ", but is ", position));
}

}  // namespace

absl::Status SequenceConstruct::Reference(OpContext& context) const {
  std::vector<Tensor> tensors;
  tensors.reserve(context.num_inputs());
  for (int i = 0; i < context.num_inputs(); ++i) tensors.push_back(context.input(i));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor sequence,
                           Tensor::Sequence(tensors.front().type(), tensors, context.allocator()));
  context.SetOutput(0, std::move(sequence));
  return absl::OkStatus();
}

absl::Status SequenceEmpty::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor sequence, Tensor::Sequence(type_, {}, context.allocator()));
  context.SetOutput(0, std::move(sequence));
  return absl::OkStatus();
}

absl::Status SequenceInsert::Reference(OpContext& context) const {
  const Tensor& sequence = context.input(0);
  const int64_t count = sequence.num_elements();
  int64_t position = count;
  if (context.has_input(2)) {
    ATTNRUN_ASSIGN_OR_RETURN(position, ReadPosition(context.input(2), sequence, count + 1));
  }
  const absl::Span<const Tensor> before = sequence.tensors();
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor result,
      position == count
          ? sequence.Appended(context.input(1), context.allocator())
          : Tensor::Sequence(sequence.element_type(), before.first(position), context.allocator()));
  if (position < count) {
    ATTNRUN_ASSIGN_OR_RETURN(result, result.Appended(context.input(1), context.allocator()));
    for (const Tensor& tensor : before.subspan(position)) {
      ATTNRUN_ASSIGN_OR_RETURN(result, result.Appended(tensor, context.allocator()));
    }
  }
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

absl::Status SequenceErase::Reference(OpContext& context) const {
  const Tensor& sequence = context.input(0);
  const int64_t count = sequence.num_elements();
  int64_t position = count - 1;
  if (context.has_input(1)) {
    ATTNRUN_ASSIGN_OR_RETURN(position, ReadPosition(context.input(1), sequence, count));
  } else if (count == 0) {
    return absl::InvalidArgumentError("there is nothing to erase: the sequence is empty");
  }
  std::vector<Tensor> tensors(sequence.tensors().begin(), sequence.tensors().end());
  tensors.erase(tensors.begin() + position);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           Tensor::Sequence(sequence.element_type(), tensors, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

absl::Status SequenceAt::Reference(OpContext& context) const {
  const Tensor& sequence = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t position,
                           ReadPosition(context.input(1), sequence, sequence.num_elements()));
  context.SetOutput(0, sequence.tensors()[position]);
  return absl::OkStatus();
}

absl::Status SequenceLength::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor length,
      FromInts(DataType::kInt64, {}, {context.input(0).num_elements()}, context.allocator()));
  context.SetOutput(0, std::move(length));
  return absl::OkStatus();
}

absl::Status Optional::Reference(OpContext& context) const {
  if (context.has_input(0)) context.SetOutput(0, context.input(0));
  return absl::OkStatus();
}

absl::Status OptionalGetElement::Reference(OpContext& context) const {
  if (!context.has_input(0)) {
    return absl::InvalidArgumentError("expected an optional with an element, but it has none");
  }
  context.SetOutput(0, context.input(0));
  return absl::OkStatus();
}

absl::Status OptionalHasElement::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor result,
      FromInts(DataType::kBool, {}, {context.has_input(0) ? 1 : 0}, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
