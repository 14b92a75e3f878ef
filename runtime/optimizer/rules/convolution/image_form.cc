// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/convolution/image_form.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/registry.h"
#include "ops/tensors/channels_last.h"
#include "ops/tensors/float_rows.h"
#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/pads.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/convolution/channel_map.h"
#include "optimizer/rules/convolution/conv_parts.h"

namespace attnrun::opt {
namespace {

using Form = std::optional<ImageForm>;
using Values = std::vector<Value*>;

// Axis i of channels last is axis Order(rank)[i] of channels first.
std::vector<int64_t> Order(int rank) { return ops::ChannelsLast(rank); }

// The place of an axis once channels are last; nullopt if there is no such axis.
std::optional<int64_t> Moved(int64_t axis, int rank) {
  const auto known = ops::KnownAxis(axis, rank);
  if (!known.has_value()) return std::nullopt;
  const std::vector<int64_t> order = Order(rank);
  return absl::c_find(order, static_cast<int64_t>(*known)) - order.begin();
}

std::optional<std::vector<int64_t>> AllMoved(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> moved;
  for (const int64_t axis : axes) {
    const auto place = Moved(axis, rank);
    if (!place.has_value()) return std::nullopt;
    moved.push_back(*place);
  }
  return moved;
}

// A constant that broadcasts to images [N, C, ..], for images [N, .., C].
Value* Rearranged(Patch& patch, Value* constant, int rank) {
  const int axes = constant->constant()->rank();
  if (axes < rank) {
    std::vector<int64_t> added(rank - axes);
    absl::c_iota(added, 0);
    constant = patch.Op("Unsqueeze", {constant, patch.Ints(added)});
  }
  return patch.Transpose(constant, Order(rank));
}

// Element-wise nodes, whose smaller operands are constants or single numbers.
Form ElementwiseForm(const Node& node, int rank, Facts& facts) {
  ImageForm form = {{}, {0}, nullptr};
  std::vector<int> smaller;
  for (int i = 0; i < std::ssize(node.inputs()); ++i) {
    const Value* input = node.input(i);
    const int axes = input == nullptr ? 0 : facts.RankOf(input);
    if (axes == rank) {
      form.inputs.push_back(i);
    } else if (axes > 0 && input->is_constant()) {
      if (input->constant()->num_elements() != 1) smaller.push_back(i);
    } else if (axes != 0) {
      return std::nullopt;
    }
  }
  form.write = [&node, rank, smaller](Patch& patch, Values given) {
    for (const int i : smaller) given[i] = Rearranged(patch, given[i], rank);
    return patch.Again(node, std::move(given), node.attributes());
  };
  return form;
}

// True if all axes of the images but `axis` pass through the node as they are.
bool PassesOtherAxes(const Node& node, const ImageForm& form, int rank, int64_t axis,
                     Facts& facts) {
  const ops::AxisRule rule = AxesOf(node, facts);
  for (int other = 0; other < rank; ++other) {
    const ops::AxisTrack* track = rule.OfOutput(0, other);
    const bool passes =
        track != nullptr &&
        absl::c_all_of(form.inputs, [&](int i) { return track->inputs[i] == other; }) &&
        absl::c_all_of(track->outputs, [&](int output) { return output == other; });
    if (other != axis && !passes) return false;
  }
  return true;
}

// Nodes that mix the positions of one axis, which an attribute names.
Form OneAxisForm(const Node& node, int rank, Facts& facts) {
  const AttributeValue* axis = node.attribute("axis");
  const auto* number = axis == nullptr ? nullptr : std::get_if<int64_t>(axis);
  const auto moved = number == nullptr ? std::nullopt : Moved(*number, rank);
  if (!moved.has_value()) return std::nullopt;
  ImageForm form = {{}, {}, nullptr};
  for (int i = 0; i < std::ssize(node.inputs()); ++i) {
    if (node.input(i) != nullptr && facts.RankOf(node.input(i)) == rank) form.inputs.push_back(i);
  }
  for (int i = 0; i < std::ssize(node.outputs()); ++i) {
    if (node.output(i) != nullptr) form.outputs.push_back(i);
  }
  if (!PassesOtherAxes(node, form, rank, Order(rank)[*moved], facts)) return std::nullopt;
  form.write = [&node, moved](Patch& patch, Values given) {
    AttributeMap attributes = node.attributes();
    attributes["axis"] = *moved;
    return patch.Again(node, std::move(given), std::move(attributes));
  };
  return form;
}

Form SliceForm(const Node& node, int rank, Facts& facts) {
  const auto axes = node.input(3) == nullptr ? std::nullopt : KnownInts(node.input(3), facts);
  const auto moved = axes.has_value() ? AllMoved(*axes, rank) : std::nullopt;
  if (!moved.has_value()) return std::nullopt;
  return ImageForm{{0}, {0}, [&node, moved](Patch& patch, Values given) {
                     given[3] = patch.Ints(*moved);
                     return patch.Again(node, std::move(given), node.attributes());
                   }};
}

Form PadForm(const Node& node, int rank, Facts& facts) {
  const auto pads = PadsOf(node, rank, facts);
  if (!pads.has_value()) return std::nullopt;
  std::vector<int64_t> moved;
  for (const int64_t side : {0, rank}) {
    for (const int64_t axis : Order(rank)) moved.push_back((*pads)[side + axis]);
  }
  return ImageForm{{0}, {0}, [&node, moved](Patch& patch, Values given) {
                     AttributeMap attributes = node.attributes();
                     if (given.size() == 1) {
                       attributes["pads"] = moved;
                     } else {
                       given[1] = patch.Ints(moved);
                       given.resize(std::min<size_t>(given.size(), 3));
                     }
                     return patch.Again(node, std::move(given), std::move(attributes));
                   }};
}

// Resize and Upsample, whose last inputs have one number for each axis.
Form ResizeForm(const Node& node, int rank, Facts& /*facts*/) {
  const bool has_attributes =
      node.attribute("axes") != nullptr || node.attribute("scales") != nullptr;
  const auto mode = AttributeOr<std::string>(node, "coordinate_transformation_mode", "half_pixel");
  if (has_attributes || mode == "tf_crop_and_resize" || node.inputs().size() < 2) {
    return std::nullopt;
  }
  return ImageForm{{0}, {0}, [&node, rank](Patch& patch, Values given) {
                     // Without tf_crop_and_resize, the region of interest is not read.
                     if (given.size() > 2) given[1] = nullptr;
                     for (size_t i = 1; i < given.size(); ++i) {
                       if (given[i] == nullptr) continue;
                       const Tensor* numbers = given[i]->constant();
                       if (numbers != nullptr && numbers->num_elements() == 0) continue;
                       given[i] = patch.Op("Gather", {given[i], patch.Ints(Order(rank))});
                     }
                     return patch.Again(node, std::move(given), node.attributes());
                   }};
}

// Pooling, as that of images with one channel, whose last spatial axis are the old channels:
// [N, 1, .., C].
Form PoolForm(const Node& node, int rank, Facts& /*facts*/) {
  if (node.outputs().size() > 1 && node.output(1) != nullptr) return std::nullopt;
  AttributeMap attributes = node.attributes();
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    if (!attributes.contains(name)) continue;
    auto* const values = std::get_if<std::vector<int64_t>>(&attributes[name]);
    const bool pads = absl::string_view(name) == "pads";
    const int axes = rank - 2;
    if (values == nullptr || std::ssize(*values) != (pads ? 2 * axes : axes)) return std::nullopt;
    if (pads) values->insert(values->begin() + axes, 0);
    values->push_back(pads ? 0 : 1);
  }
  return ImageForm{{0}, {0}, [&node, attributes](Patch& patch, Values given) {
                     given[0] = patch.Op("Unsqueeze", {given[0], patch.Ints({1})});
                     given = patch.Again(node, std::move(given), attributes);
                     given[0] = patch.Op("Squeeze", {given[0], patch.Ints({1})});
                     return given;
                   }};
}

// Reductions. Where the reduced axes vanish, the others must stay in their order.
Form ReductionForm(const Node& node, int rank, Facts& facts) {
  const auto axes = KnownInts(node, "axes", 1, facts);
  const auto moved = axes.has_value() ? AllMoved(*axes, rank) : std::nullopt;
  if (!moved.has_value() || moved->empty()) return std::nullopt;
  ImageForm form = {{0}, {0}, nullptr};
  if (AttributeOr<int64_t>(node, "keepdims", 1) == 0) {
    std::vector<int64_t> kept;
    for (int place = 0; place < rank; ++place) {
      if (!absl::c_linear_search(*moved, place)) kept.push_back(Order(rank)[place]);
    }
    if (!absl::c_is_sorted(kept)) return std::nullopt;
    form.outputs.clear();
  }
  form.write = [&node, moved](Patch& patch, Values given) {
    AttributeMap attributes = node.attributes();
    if (given.size() > 1) {
      given[1] = patch.Ints(*moved);
    } else {
      attributes["axes"] = *moved;
    }
    return patch.Again(node, std::move(given), std::move(attributes));
  };
  return form;
}

Form ConvolutionForm(const Node& node, int /*rank*/, Facts& facts) {
  auto parts = ConvParts::Of(node, facts);
  if (!parts.has_value()) return std::nullopt;
  return ImageForm{{0}, {0}, [&node, parts](Patch& patch, Values given) mutable {
                     parts->x = given[0];
                     return Values{parts->Write(patch, node.name())};
                   }};
}

// A BatchNormalization that found no product to join is a convolution of each channel with one
// number.
Form NormalizationForm(const Node& node, int rank, Facts& facts) {
  const auto channels = facts.Extent(node.input(0), 1);
  if (!channels.has_value() || !ops::IsFloatOrHalf(facts.TypeOf(node.input(0))))
    return std::nullopt;
  const std::vector<ChannelMap> maps = ChannelMapsOf(&node, *channels, facts);
  if (maps.size() != 1) return std::nullopt;
  const DataType type = facts.TypeOf(node.input(0));
  return ImageForm{
      {0}, {0}, [&node, rank, type, channels, map = maps[0]](Patch& patch, Values given) {
        std::vector<int64_t> shape(rank, 1);
        shape[0] = *channels;
        ConvParts parts = {.x = given[0], .attributes = {{"group", *channels}}};
        parts.weight = patch.Constant(node.input(1)->name(), FromDoubles(type, shape, map.scale));
        parts.bias =
            patch.Constant(node.input(2)->name(), FromDoubles(type, {*channels}, map.shift));
        return Values{parts.Write(patch, node.name())};
      }};
}

std::vector<SymInt> Permuted(const std::vector<SymInt>& dims) {
  std::vector<SymInt> permuted;
  for (const int64_t axis : Order(static_cast<int>(dims.size()))) permuted.push_back(dims[axis]);
  return permuted;
}

// A Reshape of the positions alone: [N, C, H W] to [N, C, H, W] or back, as where the tokens of a
// transformer are convolved.
Form ReshapeForm(const Node& node, Facts& facts) {
  const std::vector<SymInt>* from = facts.DimsOf(node.input(0));
  const std::vector<SymInt>* to = facts.DimsOf(node.output(0));
  if (from == nullptr || to == nullptr || std::min(from->size(), to->size()) < 3) {
    return std::nullopt;
  }
  if ((*from)[0] != (*to)[0] || (*from)[1] != (*to)[1]) return std::nullopt;
  const auto target = ReshapeTarget(Permuted(*from), Permuted(*to));
  // Extents that are written out are rearranged with the axes.
  if (!target.has_value() && facts.Of(node.input(1)).contents != *to) return std::nullopt;
  const int rank = static_cast<int>(to->size());
  return ImageForm{{0}, {0}, [target, rank](Patch& patch, Values given) {
                     if (target.has_value())
                       return patch.Ops("Reshape", 1, {given[0], patch.Ints(*target)});
                     Value* shape = patch.Op("Gather", {given[1], patch.Ints(Order(rank))});
                     return patch.Ops("Reshape", 1, {given[0], shape}, {{"allowzero", int64_t{1}}});
                   }};
}

using FormOf = Form (*)(const Node& node, int rank, Facts& facts);
constexpr std::pair<absl::string_view, FormOf> kForms[] = {
    {"Conv", ConvolutionForm}, {"BatchNormalization", NormalizationForm},
    {"Concat", OneAxisForm},   {"Split", OneAxisForm},
    {"Softmax", OneAxisForm},  {"LogSoftmax", OneAxisForm},
    {"Slice", SliceForm},      {"Pad", PadForm},
    {"Resize", ResizeForm},    {"Upsample", ResizeForm},
    {"MaxPool", PoolForm},     {"AveragePool", PoolForm},
};

// True for a Conv along a single axis, unless it has few features in a group, as in vocoders: the
// kernel for these computes vectors of positions. Depthwise ones have vectors of channels, and
// pointwise ones are products of matrices.
bool SuitsChannelsLast(const Node& node, Facts& facts) {
  constexpr int64_t kFewFeatures = 32;
  const auto parts = ConvParts::Of(node, facts);
  if (!parts.has_value()) return false;
  const int64_t features = parts->weight->constant()->dim(0);
  const auto group = AttributeOr<int64_t>(node, "group", 1);
  if (parts->IsPointwise() || group == features) return true;
  return group >= 1 && features / group > kFewFeatures;
}

// True if all inputs but one are constants. Other nodes on values with three axes are the many of
// transformers, which have little to do with convolutions.
bool HasOneOperand(const Node& node) {
  return absl::c_count_if(node.inputs(), [](const Value* input) {
           return input != nullptr && !input->is_constant();
         }) == 1;
}

}  // namespace

std::optional<ImageForm> ImageFormOf(const Node& node, Facts& facts) {
  if (node.input(0) == nullptr || node.output(0) == nullptr) return std::nullopt;
  const ops::OpTraits& traits = ops::TraitsOf(node);
  if (traits.elementwise) {
    const int rank = facts.RankOf(node.output(0));
    const bool is_line = rank == 3 && HasOneOperand(node);
    return rank == 4 || is_line ? ElementwiseForm(node, rank, facts) : std::nullopt;
  }
  if (!node.domain().empty()) return std::nullopt;
  if (node.op_type() == "Reshape") return ReshapeForm(node, facts);
  const int rank = facts.RankOf(node.input(0));
  if (rank == 3 && SuitsChannelsLast(node, facts)) return ConvolutionForm(node, rank, facts);
  if (rank != 4) return std::nullopt;
  if (traits.reduces) return ReductionForm(node, rank, facts);
  const auto* form = EntryOf(kForms, &node);
  return form == nullptr ? std::nullopt : form->second(node, rank, facts);
}

}  // namespace attnrun::opt
