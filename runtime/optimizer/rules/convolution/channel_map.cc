// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/convolution/channel_map.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// The elements of a constant of floats; empty for other values.
std::vector<double> FloatsOf(const Value* value) {
  if (value == nullptr || !value->is_constant()) return {};
  const Tensor& tensor = *value->constant();
  if (!IsFloatingPoint(tensor.type())) return {};
  return ToDoubles(tensor).value_or(std::vector<double>());
}

// One number for each channel, by which a constant meets a value of `rank` axes; empty if it has
// others, or more axes.
std::vector<double> PerChannel(const Value* value, int64_t channels, int rank) {
  std::vector<double> numbers = FloatsOf(value);
  if (numbers.empty() || value->constant()->rank() > rank) return {};
  if (numbers.size() == 1) return std::vector<double>(channels, numbers[0]);
  const Tensor& tensor = *value->constant();
  const int axis = 1 - rank + tensor.rank();
  const bool fits = std::ssize(numbers) == channels && axis >= 0 && axis < tensor.rank() &&
                    tensor.dim(axis) == channels;
  return fits ? numbers : std::vector<double>();
}

bool IsInference(const Node& node) {
  return AttributeOr<int64_t>(node, "training_mode", 0) == 0 &&
         AttributeOr<int64_t>(node, "spatial", 1) != 0 &&
         std::all_of(node.outputs().begin() + 1, node.outputs().end(),
                     [](const Value* output) { return output == nullptr; });
}

std::optional<ChannelMap> ReadNormalization(const Node& node, int64_t channels) {
  if (!IsInference(node)) return std::nullopt;
  const double epsilon = AttributeOr(node, "epsilon", 1e-5F);
  ChannelMap map = {
      .x = node.input(0), .scale = FloatsOf(node.input(1)), .shift = FloatsOf(node.input(2))};
  const std::vector<double> mean = FloatsOf(node.input(3));
  const std::vector<double> variance = FloatsOf(node.input(4));
  for (const size_t count : {map.scale.size(), map.shift.size(), mean.size(), variance.size()}) {
    if (count != static_cast<size_t>(channels)) return std::nullopt;
  }
  for (int64_t c = 0; c < channels; ++c) {
    map.scale[c] /= std::sqrt(variance[c] + epsilon);
    map.shift[c] -= mean[c] * map.scale[c];
  }
  return map;
}

// A sum, difference, product or quotient of x, input `side`, and a constant.
std::optional<ChannelMap> ReadArithmetic(const Node& node, int side, int64_t channels,
                                         Facts& facts) {
  Value* x = node.input(side);
  // An x of one channel would broadcast.
  if (facts.RankOf(x) < 2 || facts.Extent(x, 1) != channels) return std::nullopt;
  std::vector<double> numbers = PerChannel(node.input(1 - side), channels, facts.RankOf(x));
  if (numbers.empty()) return std::nullopt;
  const std::string& op = node.op_type();
  const bool inverts = op == "Sub" || op == "Div";
  if (inverts && side == 1) return std::nullopt;
  for (double& number : numbers) {
    if (op == "Sub") number = -number;
    if (op == "Div") number = 1 / number;
  }
  if (op == "Add" || op == "Sub") {
    return ChannelMap{x, std::vector<double>(channels, 1), std::move(numbers)};
  }
  return ChannelMap{x, std::move(numbers), std::vector<double>(channels, 0)};
}

}  // namespace

bool ChannelMap::shifts() const {
  return absl::c_any_of(shift, [](double s) { return s != 0; });
}

bool ChannelMap::only_shifts() const {
  return absl::c_all_of(scale, [](double s) { return s == 1; });
}

std::vector<ChannelMap> ChannelMapsOf(const Node* node, int64_t channels, Facts& facts) {
  std::vector<ChannelMap> maps;
  const auto add = [&](std::optional<ChannelMap> map) {
    if (map.has_value()) maps.push_back(*std::move(map));
  };
  if (IsOp(node, "BatchNormalization")) add(ReadNormalization(*node, channels));
  const bool arithmetic =
      IsOp(node, "Add") || IsOp(node, "Sub") || IsOp(node, "Mul") || IsOp(node, "Div");
  if (!arithmetic) return maps;
  for (const int side : {0, 1}) add(ReadArithmetic(*node, side, channels, facts));
  return maps;
}

}  // namespace attnrun::opt
