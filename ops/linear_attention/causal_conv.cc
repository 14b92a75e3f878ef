// SPDX-License-Identifier: Apache-2.0
#include "ops/linear_attention/causal_conv.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/linear_attention/linear_attention.h"

namespace attnrun::ops {
namespace {

absl::Status CheckAlike(const OpContext& context, int i, absl::string_view name,
                        const Shape& expected) {
  const Tensor& tensor = context.input(i);
  if (tensor.type() == context.input(0).type() && tensor.shape() == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("expected ", name, " of the type of x and shape ",
                                                 ToString(expected), ", but found ",
                                                 TypeAndShape(tensor)));
}

absl::Status CheckAttributes(const CausalConvAttributes& attributes) {
  const bool fits =
      attributes.window >= 0 && attributes.window <= kMostStateWindow && attributes.dilation >= 1;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a dilation of at least 1 and a state_window of 0 to ", kMostStateWindow,
      ", but found ", attributes.dilation, " and ", attributes.window));
}

}  // namespace

CausalConv::CausalConv(AttributeReader& attributes)
    : attributes_{
          .silu = attributes.OneOf("activation", "none", {"none", "silu", "swish"}) != "none",
          .channels_last = false,
          .dilation = 1,
          .window = 0} {
  if (attributes.node().domain().empty()) return;
  attributes.ExpectInt("ndim", 1);
  attributes_.channels_last = attributes.Int("channels_last", 0) != 0;
  attributes_.dilation = attributes.Int("dilation", 1);
  attributes_.window = attributes.Int("state_window", 0);
}

absl::StatusOr<CausalConvShape> ResolveCausalConv(const CausalConvAttributes& attributes,
                                                  const OpContext& context) {
  ATTNRUN_RETURN_IF_ERROR(CheckAttributes(attributes));
  const Tensor& x = context.input(0);
  const Tensor& weight = context.input(1);
  const bool last = attributes.channels_last;
  if (!IsFloatingPoint(x.type()) || (last ? x.rank() < 3 : x.rank() != 3) || weight.rank() != 3 ||
      weight.dim(2) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected x of floats ", last ? "[B,L,C,..]" : "[B,C,L]",
                     " and a weight [C,1,K], K at least 1, but found ", TypeAndShape(x), " and ",
                     TypeAndShape(weight)));
  }
  const absl::Span<const int64_t> extents = x.shape();
  CausalConvShape shape = {};
  shape.batch = x.dim(0);
  shape.length = x.dim(last ? 1 : 2);
  shape.channels = x.dim(1);
  if (last) {
    ATTNRUN_ASSIGN_OR_RETURN(shape.channels, NumElements(extents.subspan(2)));
  }
  shape.taps = weight.dim(2);
  ATTNRUN_ASSIGN_OR_RETURN(shape.reach, NumElements({shape.taps - 1, attributes.dilation}));
  // Positions are added up.
  ATTNRUN_RETURN_IF_ERROR(NumElements({shape.reach, 4}).status());
  shape.state = x.shape();
  shape.state[last ? 1 : 2] = shape.reach;
  if (attributes.window > 0) shape.state.insert(shape.state.begin(), attributes.window);
  ATTNRUN_RETURN_IF_ERROR(CheckAlike(context, 1, "a weight", {shape.channels, 1, shape.taps}));
  if (context.has_input(2)) {
    ATTNRUN_RETURN_IF_ERROR(CheckAlike(context, 2, "a bias", {shape.channels}));
  }
  if (context.has_input(3)) {
    ATTNRUN_RETURN_IF_ERROR(CheckAlike(context, 3, "past_state", shape.state));
  }
  return shape;
}

void CausalConv::Infer(InferContext& context) const {
  InferLikeInput(context);
  const std::optional<Dims>& x = context.input(0).dims;
  const std::optional<Dims>& weight = context.input(1).dims;
  std::optional<Dims> state;
  if (context.has_input(3)) state = context.input(3).dims;
  if (x.has_value() && x->size() >= 3 && weight.has_value() && weight->size() == 3) {
    Dims dims = *x;
    dims[attributes_.channels_last ? 1 : 2] = ((*weight)[2] - 1) * attributes_.dilation;
    if (attributes_.window > 0) dims.insert(dims.begin(), attributes_.window);
    const bool has_rank = state.has_value() && state->size() == dims.size();
    for (size_t i = 0; has_rank && i < dims.size(); ++i) {
      context.RequireEqual((*state)[i], dims[i]);
    }
    if (!state.has_value()) state = std::move(dims);
  }
  context.SetOutput(1, {context.input(0).type, std::move(state), std::nullopt});
}

// Samples, and channels where they are one axis.
void CausalConv::Axes(AxesContext& context) const {
  const size_t first = attributes_.window > 0 ? 1 : 0;
  context.Add({{0, 0}, {3, first}}, {{0, 0}, {1, first}});
  const std::optional<Dims>& x = context.input(0).dims;
  if (!x.has_value() || x->size() != 3) return;
  const size_t channel = attributes_.channels_last ? 2 : 1;
  context.Add({{0, channel}, {1, 0}, {2, 0}, {3, first + channel}},
              {{0, channel}, {1, first + channel}});
}

}  // namespace attnrun::ops
