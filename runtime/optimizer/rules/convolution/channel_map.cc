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

// The maps of a node of x and a constant: a sum or difference if `shifts`, else a product or
// quotient.
void AddArithmetic(const Node* node, bool shifts, int64_t channels, Facts& facts,
                   std::vector<ChannelMap>& maps) {
  for (const auto& [x, constant] : shifts ? SumsOf(node) : ScalingsOf(node)) {
    // An x of one channel would broadcast.
    if (facts.RankOf(x) < 2 || facts.Extent(x, 1) != channels) continue;
    std::vector<double> numbers = PerChannel(constant, channels, facts.RankOf(x));
    if (numbers.empty()) continue;
    for (double& number : numbers) {
      if (IsDivOrSub(node)) number = shifts ? -number : 1 / number;
    }
    std::vector<double> others(channels, shifts ? 1 : 0);
    if (shifts) numbers.swap(others);
    maps.push_back({x, std::move(numbers), std::move(others)});
  }
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
  auto norm = IsOp(node, "BatchNormalization") ? ReadNormalization(*node, channels) : std::nullopt;
  if (norm.has_value()) maps.push_back(*std::move(norm));
  AddArithmetic(node, /*shifts=*/true, channels, facts, maps);
  AddArithmetic(node, /*shifts=*/false, channels, facts, maps);
  return maps;
}

}  // namespace attnrun::opt
