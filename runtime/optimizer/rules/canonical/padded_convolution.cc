// SPDX-License-Identifier: Apache-2.0

// Some exporters write a Pad of zeros before a convolution, others use the convolution's own
// padding. The latter needs no copy of the input:
//
//   Conv(Pad(x, [0, 0, 30, 0, 0, 0]), w)  ->  Conv(x, w) {pads=[30, 0]}

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/pads.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// No convolution pads more. A run refuses larger numbers, and sums of these fit an int64.
constexpr int64_t kMost = int64_t{1} << 31;

bool IsCount(int64_t zeros) { return zeros >= 0 && zeros <= kMost; }

bool PadsWithZeros(const Node& pad) {
  if (AttributeOr<std::string>(pad, "mode", "constant") != "constant") return false;
  if (AttributeOr<float>(pad, "value", 0) != 0) return false;
  return pad.input(2) == nullptr || ScalarOf(pad.input(2)) == 0.0;
}

// The numbers of zeros before and after each axis except samples and channels, in the order of a
// Conv's `pads`; nullopt if the node, a Pad or null, does not pad by such zeros.
std::optional<std::vector<int64_t>> ZerosAround(const Node* pad, Facts& facts) {
  if (pad == nullptr || !PadsWithZeros(*pad)) return std::nullopt;
  const int rank = facts.RankOf(pad->input(0));
  const auto pads = PadsOf(*pad, rank, facts);
  if (rank < 3 || !pads.has_value() || !absl::c_all_of(*pads, IsCount)) return std::nullopt;
  std::vector<int64_t> zeros;
  for (int i = 0; i < 2 * rank; ++i) {
    if (i % rank >= 2) {
      zeros.push_back((*pads)[i]);
    } else if ((*pads)[i] != 0) {
      return std::nullopt;
    }
  }
  return zeros;
}

bool PadInConvolutions(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  const Node* pad = ProducerOf(node->input(0), "Pad");
  auto zeros = ZerosAround(pad, facts);
  const auto kind = AttributeOr<std::string>(*node, "auto_pad", "NOTSET");
  if (!zeros.has_value() || (kind != "NOTSET" && kind != "VALID")) return false;
  const auto own = AttributeOr<std::vector<int64_t>>(*node, "pads", {});
  if (!own.empty() && own.size() != zeros->size()) return false;
  if (!absl::c_all_of(own, IsCount)) return false;
  for (size_t i = 0; i < own.size(); ++i) (*zeros)[i] += own[i];
  AttributeMap attributes = node->attributes();
  attributes.erase("auto_pad");
  attributes["pads"] = *zeros;
  std::vector<Value*> inputs = node->inputs();
  inputs[0] = pad->input(0);
  return patch.Rewrite(node, inputs, attributes);
}

}  // namespace

extern const Rule kPaddedConvolution = {
    .name = "padded_convolution",
    .summary = "Zeros padded before a convolution become its own padding",
    .anchors = {"Conv"},
    .propose = PadInConvolutions};

}  // namespace attnrun::opt
