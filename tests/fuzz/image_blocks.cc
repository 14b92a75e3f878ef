// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/elements.h"
#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

// The number of channels of an image [N, C, H, W]; nullopt if it is none.
std::optional<int64_t> ChannelsOf(GraphMaker& m, const Value* x) {
  return m.failed() || m.Rank(x) != 4 ? std::nullopt : m.Extent(x, 1);
}

// Strides, dilations and padding for windows of this kernel.
AttributeMap Window(GraphMaker& m, const std::vector<int64_t>& kernel, bool dilates) {
  Dice& dice = m.dice();
  AttributeMap attributes = {{"kernel_shape", kernel}};
  if (dice.Chance(0.3))
    attributes["strides"] = std::vector<int64_t>{dice.Int(1, 2), dice.Int(1, 2)};
  if (dilates && dice.Chance(0.15)) attributes["dilations"] = std::vector<int64_t>{1, 2};
  if (dice.Chance(0.15)) {
    attributes["auto_pad"] = dice.Of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
  } else if (dice.Chance(0.8)) {
    const bool even = dice.Chance(0.8);
    std::vector<int64_t> pads;
    for (const int64_t extent : {kernel[0], kernel[1], kernel[0], kernel[1]}) {
      pads.push_back(even ? extent / 2 : dice.Int(0, extent / 2));
    }
    attributes["pads"] = pads;
  }
  return attributes;
}

Value* AddConv(GraphMaker& m, Value* x) {
  const auto channels = ChannelsOf(m, x);
  if (!channels.has_value() || *channels == 0) return m.Fail();
  Dice& dice = m.dice();
  const bool depthwise = dice.Chance(0.25);
  const int64_t group = depthwise ? *channels : *channels % 2 == 0 && dice.Chance(0.1) ? 2 : 1;
  const int64_t features =
      depthwise ? *channels * dice.Int(1, 1 + dice.Chance(0.2)) : group * dice.Int(1, 4);
  const std::vector<int64_t> kernel = dice.Chance(0.4)
                                          ? std::vector<int64_t>{1, 1}
                                          : std::vector<int64_t>{dice.Int(1, 3), dice.Int(1, 3)};
  const bool transposed = !depthwise && dice.Chance(0.1);
  AttributeMap attributes = Window(m, kernel, true);
  attributes["group"] = group;
  std::vector<int64_t> shape = {features, *channels / group, kernel[0], kernel[1]};
  if (transposed) shape = {*channels, features / group, kernel[0], kernel[1]};
  std::vector<Value*> inputs = {x, m.Weight(shape, 0.5)};
  if (dice.Chance(0.5)) inputs.push_back(m.Weight({features}));
  return m.Op(transposed ? "ConvTranspose" : "Conv", inputs, attributes);
}

// A number for each channel, or one for all; rarely along another axis.
Value* PerChannel(GraphMaker& m, Value* x) {
  const auto channels = ChannelsOf(m, x);
  if (!channels.has_value()) return m.Fail();
  if (m.dice().Chance(0.2)) return m.Number(m.dice().Of<double>({0.5, 2, -1}));
  if (m.dice().Wrong()) return m.Weight({*channels, 1});
  return m.Weight(m.dice().Chance(0.5) ? std::vector<int64_t>{*channels, 1, 1}
                                       : std::vector<int64_t>{1, *channels, 1, 1});
}

Value* AddScale(GraphMaker& m, Value* x) {
  const auto channels = ChannelsOf(m, x);
  if (!channels.has_value()) return m.Fail();
  if (m.dice().Chance(0.5))
    return m.Commute(m.dice().Of<std::string>({"Mul", "Add"}), x, PerChannel(m, x));
  std::vector<double> variances(*channels);
  for (double& variance : variances) variance = 0.2 * static_cast<double>(m.dice().Int(1, 10));
  Value* variance = m.Constant(FromDoubles(DataType::kFloat, {*channels}, variances).value());
  return m.Op("BatchNormalization",
              {x, m.Weight({*channels}), m.Weight({*channels}), m.Weight({*channels}), variance});
}

Value* AddImageActivation(GraphMaker& m, Value* x) {
  Dice& dice = m.dice();
  switch (dice.Int(0, 4)) {
    case 0:
      return AddActivation(m, x);
    case 1:
      return m.Op("LeakyRelu", {x}, {{"alpha", 0.1F}});
    case 2:
      return m.Op("Clip", {x, m.Number(0), dice.Chance(0.3) ? nullptr : m.Number(6)});
    case 3: {
      Value* gate = m.Op("Clip", {m.Commute("Add", x, m.Number(3)), m.Number(0), m.Number(6)});
      if (dice.Chance(0.3)) return m.Op("Div", {gate, m.Number(6)});
      return m.Op("Div", {m.Commute("Mul", x, gate), m.Number(6)});
    }
    default:
      return m.Op("Relu", {x});
  }
}

Value* AddPool(GraphMaker& m, Value* x) {
  Dice& dice = m.dice();
  AttributeMap attributes = Window(m, {dice.Int(1, 3), dice.Int(1, 3)}, false);
  if (dice.Chance(0.5)) return m.Op("MaxPool", {x}, attributes);
  if (dice.Chance(0.3)) attributes["count_include_pad"] = int64_t{1};
  return m.Op("AveragePool", {x}, attributes);
}

Value* AddExcitation(GraphMaker& m, Value* x) {
  const auto channels = ChannelsOf(m, x);
  if (!channels.has_value()) return m.Fail();
  Value* mean =
      m.dice().Chance(0.5) ? m.Op("GlobalAveragePool", {x}) : m.Reduce("ReduceMean", x, {2, 3});
  Value* gate = m.Op("Conv", {mean, m.Weight({2, *channels, 1, 1})});
  gate =
      m.Op("Conv", {m.Op("Relu", {gate}), m.Weight({*channels, 2, 1, 1}), m.Weight({*channels})});
  return m.Commute("Mul", x, m.Op(m.dice().Of<std::string>({"Sigmoid", "HardSigmoid"}), {gate}));
}

// The image with another of the same shape, if there is one, or with a part of itself.
Value* AddJoin(GraphMaker& m, Value* x) {
  Dice& dice = m.dice();
  const int64_t axis = dice.Chance(0.7) ? 1 : dice.Int(2, 3);
  if (dice.Chance(0.3)) {
    const int64_t end = dice.Int(1, 2);
    return m.Op("Slice", {x, m.Ints({0}), m.Ints({end}), m.Ints({axis})});
  }
  Value* other =
      m.Any([&](const Value* value) { return m.Rank(value) == 4 && m.SameShape(value, x); });
  if (dice.Chance(0.6)) return m.Commute("Add", x, other);
  return m.Op("Concat", {x, other}, {{"axis", m.Axis(axis, 4)}});
}

Value* AddResized(GraphMaker& m, Value* x) {
  Dice& dice = m.dice();
  if (dice.Chance(0.4)) return m.Op("Pad", {x, m.Ints({0, 0, 1, 0, 0, 0, dice.Int(0, 1), 1})});
  const std::vector<double> scales = {1, 1, 2, static_cast<double>(dice.Int(1, 2))};
  Value* factors = m.Constant(FromDoubles(DataType::kFloat, {4}, scales).value());
  return m.Op(
      "Resize", {x, nullptr, factors},
      {{"mode", dice.Of<std::string>({"nearest", "linear"})},
       {"coordinate_transformation_mode", dice.Of<std::string>({"asymmetric", "half_pixel"})}});
}

}  // namespace

Value* AddImageBlock(GraphMaker& m, Value* x) {
  Value* y = x;
  switch (m.dice().Int(0, 9)) {
    case 0:
      return AddPool(m, x);
    case 1:
      return AddExcitation(m, x);
    case 2:
      return AddJoin(m, x);
    case 3:
      return AddResized(m, x);
    case 4:
      return AddScale(m, x);
    default:
      y = AddConv(m, x);
      if (m.dice().Chance(0.5)) y = m.failed() ? y : AddScale(m, y);
      if (m.dice().Chance(0.5)) y = m.failed() ? y : AddImageActivation(m, y);
      if (m.dice().Chance(0.3)) y = m.failed() ? y : AddJoin(m, y);
      if (m.dice().Chance(0.2)) y = m.failed() ? y : AddImageActivation(m, y);
      return y;
  }
}

}  // namespace attnrun::testing
