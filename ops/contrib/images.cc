// SPDX-License-Identifier: Apache-2.0

// Convolutions and norms of images with what ONNX Runtime fuses to them.

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/composite/step_node.h"
#include "ops/interface/attribute_reader.h"
#include "ops/tensors/channels_last.h"

namespace attnrun::ops::contrib {
namespace {

AttributeMap ReadConv(AttributeReader& attributes) {
  return PassedOn(attributes,
                  {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

// The image with its channels moved from the last axis to axis 1, or back.
Value* MoveChannels(Body& b, Value* x, bool to_front) {
  const int rank = b.RankOf(x);
  if (rank < 3) {
    b.Fail("expected an image of known rank, but found " + b.Describe(x));
    return x;
  }
  return b.Op("Transpose", {x}, {{"perm", to_front ? ChannelsFirst(rank) : ChannelsLast(rank)}});
}

// The operator that ends a FusedConv, and its parameters in the order of activation_params.
struct ConvActivation {
  const char* name;
  std::vector<const char*> parameters;
};

const std::vector<ConvActivation>& ConvActivations() {
  static const auto* const all = new std::vector<ConvActivation>{{"Relu", {}},
                                                                 {"Sigmoid", {}},
                                                                 {"Tanh", {}},
                                                                 {"LeakyRelu", {"alpha"}},
                                                                 {"HardSwish", {}},
                                                                 {"HardSigmoid", {"alpha", "beta"}},
                                                                 {"Clip", {"min", "max"}}};
  return *all;
}

Value* Activated(Body& b, Value* y, const std::string& name, const std::vector<float>& numbers) {
  if (name == "Clip") {
    const DataType type = b.TypeOf(b.input(0));
    if (type == DataType::kUndefined) b.Fail("the type of its input is not known");
    if (b.failed()) return y;
    return b.Op("Clip", {y, b.Number(type, numbers[0]), b.Number(type, numbers[1])});
  }
  AttributeMap attributes;
  for (const ConvActivation& activation : ConvActivations()) {
    if (name != activation.name) continue;
    for (size_t i = 0; i < numbers.size(); ++i) attributes[activation.parameters[i]] = numbers[i];
  }
  return b.Op(name, {y}, attributes);
}

}  // namespace

// FusedConv-1 (x, w, bias?, z?): Conv, plus z, then `activation` ("": none), a standard operator
// whose attributes are activation_params.
Composite::Writer FusedConv(AttributeReader& attributes) {
  const AttributeMap conv = ReadConv(attributes);
  const auto numbers = attributes.Get<std::vector<float>>("activation_params");
  const std::string name = attributes.OneOf(
      "activation", "",
      {"", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "HardSigmoid", "Clip"});
  return [=](Body& b) {
    Value* y = b.Op("Conv", {b.input(0), b.input(1), b.input(2)}, conv);
    if (b.input(3) != nullptr) y = b.Op("Add", {y, b.input(3)});
    if (name.empty()) return b.Give(y);
    const std::vector<float> given = numbers.value_or(std::vector<float>());
    for (const ConvActivation& activation : ConvActivations()) {
      if (name == activation.name && given.size() != activation.parameters.size()) {
        return b.Fail(absl::StrCat("expected ", activation.parameters.size(),
                                   " activation_params for ", name, ", but found ", given.size()));
      }
    }
    y = Activated(b, y, name, given);
    if (!b.failed()) b.Give(y);
  };
}

// NhwcConv-1 (x [N, .., C], w [M, .., C / group], bias?): Conv on images and weights whose channels
// are the last axis. The schema says [M, C / group, ..], as that of Conv, but ONNX Runtime's
// optimizer moves the channels of the weights, too.
Composite::Writer NhwcConv(AttributeReader& attributes) {
  const AttributeMap conv = ReadConv(attributes);
  return [=](Body& b) {
    Value* x = MoveChannels(b, b.input(0), true);
    Value* w = MoveChannels(b, b.input(1), true);
    if (b.failed()) return;
    b.Give(MoveChannels(b, b.Op("Conv", {x, w, b.input(2)}, conv), false));
  };
}

// GroupNorm-1 (x, gamma [C], beta [C]): GroupNormalization of images [N, H, W, C] (channels_last)
// or [N, C, H, W], in the type of gamma, followed by x sigmoid(x) if `activation` is 1.
Composite::Writer GroupNorm(AttributeReader& attributes) {
  const bool channels_last = attributes.Int("channels_last", 1) != 0;
  const auto activation = attributes.Required<int64_t>("activation");
  const AttributeMap norm = {{"epsilon", attributes.Float("epsilon", 1e-5F)},
                             {"num_groups", attributes.Required<int64_t>("groups")}};
  return [=](Body& b) {
    const DataType type = b.TypeOf(b.input(0));
    const DataType inner = b.TypeOf(b.input(1));
    if (type == DataType::kUndefined || inner == DataType::kUndefined) {
      return b.Fail("the types of its inputs are not known");
    }
    if (activation != 0 && activation != 1) {
      return b.Fail(absl::StrCat("expected an activation of 0 or 1, but found ", activation));
    }
    Value* x = channels_last ? MoveChannels(b, b.input(0), true) : b.input(0);
    if (type != inner) x = b.Cast(x, inner);
    Value* y = b.Op("GroupNormalization", {x, b.input(1), b.input(2)}, norm);
    if (activation == 1) y = b.Op("Swish", {y});
    if (type != inner) y = b.Cast(y, type);
    if (b.failed()) return;
    b.Give(channels_last ? MoveChannels(b, y, false) : y);
  };
}

}  // namespace attnrun::ops::contrib
