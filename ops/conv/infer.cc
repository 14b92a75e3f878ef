// SPDX-License-Identifier: Apache-2.0
// Inference of the types and extents of convolutions.
#include "ops/conv/infer.h"

#include <algorithm>
#include <utility>

#include "ops/conv/channels_last_conv.h"
#include "ops/conv/conv.h"
#include "ops/interface/axis_rules.h"

namespace attnrun::ops {
namespace {

// Strides and dilations, one per spatial axis, and pads, two per spatial axis.
struct Steps {
  Shape strides;
  Shape dilations;
  Shape pads;
};

std::optional<Steps> ReadSteps(const WindowAttributes& attributes, size_t axes) {
  absl::StatusOr<Shape> strides = WindowValues("strides", attributes.strides, axes, 1, 1);
  absl::StatusOr<Shape> dilations = WindowValues("dilations", attributes.dilations, axes, 1, 1);
  absl::StatusOr<Shape> pads = WindowValues("pads", attributes.pads, 2 * axes, 0, 0);
  if (!strides.ok() || !dilations.ok() || !pads.ok()) return std::nullopt;
  return Steps{*std::move(strides), *std::move(dilations), *std::move(pads)};
}

bool IsSame(const WindowAttributes& attributes) {
  return attributes.auto_pad == "SAME_UPPER" || attributes.auto_pad == "SAME_LOWER";
}

// The number of windows along one axis. `before`: the padding in front of the input; `room`: the
// padded extent minus one window.
SymInt CountWindows(const SymInt& input, int64_t before, const SymInt& room, int64_t stride,
                    bool ceil_mode) {
  // `room` is not negative in a run that succeeds.
  if (!ceil_mode) return SymInt::FloorQuotient(room, stride) + SymInt(1);
  const std::optional<int64_t> known_room = room.constant();
  const std::optional<int64_t> known_input = input.constant();
  if (!known_room.has_value() || !known_input.has_value()) return SymInt::Unknown();
  const int64_t count = (*known_room + stride - 1) / stride + 1;
  // Windows that would start in the padding at the end do not count.
  return (count - 1) * stride >= *known_input + before ? count - 1 : count;
}

// The padded extent minus one window, along each spatial axis.
Dims RoomsOf(const Steps& steps, bool padded, const Dims& input, const Dims& kernel) {
  const size_t axes = kernel.size();
  Dims rooms;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t pads = padded ? steps.pads[i] + steps.pads[axes + i] : 0;
    rooms.push_back(input[2 + i] + pads - ((kernel[i] - 1) * steps.dilations[i] + 1));
  }
  return rooms;
}

// The spatial extents of a kernel: the attribute if given, else those of the weight.
Dims KernelOf(const WindowAttributes& attributes, const Dims& weight) {
  Dims kernel(weight.begin() + 2, weight.end());
  const std::vector<int64_t>& given = attributes.kernel_shape;
  if (given.size() == kernel.size()) kernel.assign(given.begin(), given.end());
  return kernel;
}

// [N, channels, spatial...]
Dims Joined(const SymInt& batch, SymInt channels, const Dims& spatial) {
  Dims dims = {batch, std::move(channels)};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// The extents of Conv's output [N, M, ..], from those of x [N, C, ..] and of input 1; nullopt if no
// rank is known.
std::optional<Dims> InferConv(const ConvAttributes& attributes, const std::optional<Dims>& x,
                              InferContext& context) {
  const std::optional<Dims>& w = context.input(1).dims;
  if (!x.has_value() && !w.has_value()) return std::nullopt;
  const size_t rank = x.has_value() ? x->size() : w->size();
  if (rank < 3 || (w.has_value() && w->size() != rank)) return std::nullopt;
  const Dims input = x.value_or(UnknownDims(rank));
  const Dims weight = w.value_or(UnknownDims(rank));
  const Dims kernel = KernelOf(attributes.window, weight);
  // A number of features that is no multiple of the groups is no convolution: a node with these
  // attributes does not follow a choice of channels.
  const int64_t group = attributes.group;
  const bool fits = group == 1 || (group > 1 && weight[0].constant().value_or(1) % group == 0);
  return Joined(input[0], fits ? weight[0] : SymInt::Unknown(),
                InferWindow(context, attributes.window, input, kernel));
}

// Adds the samples, and the output channels, whose track is `channels` if there is one group. With
// one group per channel, an output channel is an input channel, too. `axis`: where channels are in
// input 0.
void AddConvAxes(AxesContext& context, int64_t group, AxisTrack samples, AxisTrack channels,
                 size_t axis = 1) {
  context.Add(std::move(samples));
  if (group == 1) return context.Add(std::move(channels));
  if (RankOf(context, 0).value_or(0) <= axis || RankOf(context, 1).value_or(0) == 0) return;
  const SymInt& in = (*context.input(0).dims)[axis];
  const SymInt& out = context.input(1).dims->front();
  if (!in.is_constant(group) || !out.is_constant(group)) return;
  channels.inputs[0] = static_cast<int>(axis);
  context.Add(std::move(channels));
}

}  // namespace

Dims InferWindow(InferContext& context, const WindowAttributes& attributes, const Dims& input,
                 const Dims& kernel) {
  const size_t axes = input.size() - 2;
  Dims result = UnknownDims(axes);
  const std::optional<Steps> steps = ReadSteps(attributes, axes);
  if (!steps.has_value() || kernel.size() != axes) return result;
  const bool padded = attributes.auto_pad == "NOTSET";
  const Dims rooms = RoomsOf(*steps, padded, input, kernel);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t stride = steps->strides[i];
    if (IsSame(attributes)) {
      result[i] = SymInt::Quotient(input[2 + i] + (stride - 1), stride);
      continue;
    }
    const bool ceil_mode = padded && attributes.ceil_mode;
    result[i] =
        CountWindows(input[2 + i], padded ? steps->pads[i] : 0, rooms[i], stride, ceil_mode);
    context.Require(rooms[i]);
    if (!ceil_mode) context.Require(result[i] - 1);
  }
  return result;
}

void Conv::Infer(InferContext& context) const {
  SetDims(context, 0, InferConv(attributes_, context.input(0).dims, context));
}

void ConvInteger::Infer(InferContext& context) const {
  context.SetOutput(
      0, {DataType::kInt32, InferConv(attributes_, context.input(0).dims, context), std::nullopt});
}

void ChannelsLastConv::Infer(InferContext& context) const {
  std::optional<Dims> x = context.input(0).dims;
  if (x.has_value() && x->size() >= 3) std::rotate(x->begin() + 1, x->end() - 1, x->end());
  std::optional<Dims> y = InferConv(attributes_, x, context);
  if (y.has_value()) std::rotate(y->begin() + 1, y->begin() + 2, y->end());
  SetDims(context, 0, std::move(y));
}

void ConvTranspose::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  const std::optional<Dims>& w = context.input(1).dims;
  SetDims(context, 0, std::nullopt);
  if (!x.has_value() || !w.has_value() || x->size() < 3 || w->size() != x->size()) return;
  const size_t axes = x->size() - 2;
  const WindowAttributes& window = attributes_.window;
  const std::optional<Steps> steps = ReadSteps(window, axes);
  const absl::StatusOr<Shape> padding = WindowValues("output_padding", output_padding_, axes, 0, 0);
  if (!steps.has_value() || !padding.ok()) return;
  const bool padded = window.auto_pad != "VALID";
  Dims spatial;
  for (size_t i = 0; i < axes; ++i) {
    const SymInt& extent = (*x)[2 + i];
    const int64_t stride = steps->strides[i];
    const int64_t pads = padded ? steps->pads[i] + steps->pads[axes + i] : 0;
    const SymInt reach = ((*w)[2 + i] - 1) * steps->dilations[i] + 1;
    SymInt out = (extent - 1) * stride + (*padding)[i] + reach - pads;
    if (IsSame(window)) out = extent * stride;
    if (output_shape_.size() == axes) out = output_shape_[i];
    spatial.push_back(std::move(out));
  }
  SetDims(context, 0, Joined((*x)[0], (*w)[1] * attributes_.group, spatial));
}

void Conv::Axes(AxesContext& context) const {
  AddConvAxes(context, attributes_.group, context.Track({{0, 0}}, {{0, 0}}),
              context.Track({{1, 0}, {2, 0}}, {{0, 1}}));
}

void ChannelsLastConv::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, kX).value_or(RankOf(context, kWeight).value_or(0));
  if (rank < 3) return;
  AddConvAxes(context, attributes_.group, context.Track({{kX, 0}, {kResidual, 0}}, {{0, 0}}),
              context.Track({{kWeight, 0}, {kBias, 0}, {kResidual, rank - 1}}, {{0, rank - 1}}),
              rank - 1);
}

// Input 3 is the zero point of the weight: one number, or one for each output channel.
void ConvInteger::Axes(AxesContext& context) const {
  AxisTrack channels = context.Track({{1, 0}}, {{0, 1}});
  if (RankOf(context, 1).value_or(0) == 0) return;
  const bool plain = AddOperand(context, 3, {context.input(1).dims->front()}, 0, channels);
  AddConvAxes(context, attributes_.group, context.Track({{0, 0}}, {{0, 0}}),
              plain ? channels : context.Track({}, {}));
}

void ConvTranspose::Axes(AxesContext& context) const {
  context.Add({{0, 0}}, {{0, 0}});
  if (attributes_.group == 1) context.Add({{1, 1}, {2, 0}}, {{0, 1}});
}

}  // namespace attnrun::ops
