// SPDX-License-Identifier: Apache-2.0

// TorchScript writes chunk, split, unbind and lists of tensors as sequences. A sequence with a
// known number of tensors disappears: SplitToSequence becomes a Split, and whoever reads the
// sequence reads its tensors.
//
//   SequenceAt(SplitToSequence(x [..., 24], 8), 1)  ->  y1     of  y0, y1, y2 = Split(x, [8, 8, 8])
//   ConcatFromSequence(SequenceConstruct(a, b))     ->  Concat(a, b)
//   SequenceLength(SequenceConstruct(a, b))         ->  2
//   SequenceInsert(SequenceConstruct(a, b), c)      ->  SequenceConstruct(a, b, c)
//   OptionalGetElement(Optional(x))                 ->  x

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Longer sequences stay, because a graph of thousands of nodes would be no gain.
constexpr int64_t kMostTensors = 256;

// The tensors of a sequence, if they are the same values in every run.
std::optional<std::vector<Value*>> TensorsOf(const Value* sequence) {
  const Node* node = sequence == nullptr ? nullptr : sequence->producer();
  if (IsOp(node, "SequenceEmpty")) return std::vector<Value*>();
  if (!IsOp(node, "SequenceConstruct") || absl::c_linear_search(node->inputs(), nullptr) ||
      std::ssize(node->inputs()) > kMostTensors) {
    return std::nullopt;
  }
  return node->inputs();
}

// The place that input `i` of the node names among `places`. `otherwise` if the input is left out.
// nullopt if the place is not known or does not exist.
std::optional<int64_t> PlaceOf(const Node& node, size_t i, int64_t count, int64_t places,
                               int64_t otherwise, Facts& facts) {
  if (node.input(i) == nullptr) return otherwise;
  const std::optional<int64_t> position = KnownInt(node.input(i), facts);
  if (!position.has_value() || *position < -count || *position >= places) return std::nullopt;
  return *position < 0 ? *position + count : *position;
}

// The extents of the pieces of a SplitToSequence along an axis of n elements in pieces of `each`.
std::vector<int64_t> Extents(int64_t n, int64_t each) {
  std::vector<int64_t> extents(n / each, each);
  if (n % each != 0) extents.push_back(n % each);
  return extents;
}

// The number of equal pieces of extent `each` that an axis has in every run; nullopt if unknown.
std::optional<int64_t> EqualPieces(const SymInt& n, const Value* each, Facts& facts) {
  const std::optional<SymInt> extent = facts.Of(each).OnlyElement();
  if (!extent.has_value()) return std::nullopt;
  const std::optional<SymInt> pieces = SymInt::DivideExactly(n, *extent);
  if (!pieces.has_value()) return std::nullopt;
  const int64_t count = pieces->constant().value_or(0);
  return count >= 1 && count <= kMostTensors ? std::optional(count) : std::nullopt;
}

// The pieces as outputs of a Split; none if their number is not known.
std::vector<Value*> SplitPieces(const Node& node, int64_t axis, Facts& facts, Patch& patch) {
  Value* x = node.input(0);
  Value* split = node.input(1);
  const auto write = [&](Value* sizes, int64_t count, AttributeMap attributes) {
    attributes["axis"] = axis;
    return patch.Ops("Split", static_cast<int>(count), {x, sizes}, std::move(attributes));
  };
  const int rank = split == nullptr ? 0 : facts.RankOf(split);
  if (rank == 1) {
    const int64_t count = facts.Extent(split, 0).value_or(0);
    if (count < 1 || count > kMostTensors) return {};
    return write(split, count, {});
  }
  const std::vector<SymInt>* dims = facts.DimsOf(x);
  if (rank != 0 || dims == nullptr || axis >= std::ssize(*dims) || axis < -std::ssize(*dims)) {
    return {};
  }
  const SymInt& n = (*dims)[axis < 0 ? axis + std::ssize(*dims) : axis];
  const int64_t extent = n.constant().value_or(-1);
  const int64_t each = split == nullptr ? 1 : KnownInt(split, facts).value_or(0);
  if (extent >= 0 && each >= 1) {
    if (extent == 0 || (extent - 1) / each >= kMostTensors) return {};
    const std::vector<int64_t> extents = Extents(extent, each);
    return write(patch.Ints(extents), std::ssize(extents), {});
  }
  const std::optional<int64_t> count =
      split == nullptr ? std::nullopt : EqualPieces(n, split, facts);
  if (!count.has_value()) return {};
  return write(nullptr, *count, {{"num_outputs", *count}});
}

bool WriteSplit(RuleContext& context, Node* node, Patch& patch) {
  const auto axis = AttributeOr<int64_t>(*node, "axis", 0);
  std::vector<Value*> pieces = SplitPieces(*node, axis, context.facts, patch);
  if (pieces.empty()) return false;
  if (node->input(1) == nullptr && AttributeOr<int64_t>(*node, "keepdims", 1) == 0) {
    for (Value*& piece : pieces) piece = patch.Op("Squeeze", {piece, patch.Ints({axis})});
  }
  return patch.Substitute(node, "SequenceConstruct", std::move(pieces));
}

bool InsertTensor(RuleContext& context, Node* node, Patch& patch) {
  auto tensors = TensorsOf(node->input(0));
  if (!tensors.has_value()) return false;
  const int64_t count = std::ssize(*tensors);
  const auto place = PlaceOf(*node, 2, count, count + 1, count, context.facts);
  if (!place.has_value() || count == kMostTensors) return false;
  tensors->insert(tensors->begin() + *place, node->input(1));
  return patch.Substitute(node, "SequenceConstruct", *std::move(tensors));
}

bool EraseTensor(RuleContext& context, Node* node, Patch& patch) {
  auto tensors = TensorsOf(node->input(0));
  // An empty sequence would need a type.
  if (!tensors.has_value() || tensors->size() < 2) return false;
  const int64_t count = std::ssize(*tensors);
  const auto place = PlaceOf(*node, 1, count, count, count - 1, context.facts);
  if (!place.has_value()) return false;
  tensors->erase(tensors->begin() + *place);
  return patch.Substitute(node, "SequenceConstruct", *std::move(tensors));
}

bool TakeTensor(RuleContext& context, Node* node, Patch& patch) {
  const auto tensors = TensorsOf(node->input(0));
  if (!tensors.has_value() || node->input(1) == nullptr) return false;
  const int64_t count = std::ssize(*tensors);
  const auto place = PlaceOf(*node, 1, count, count, 0, context.facts);
  return place.has_value() && patch.Substitute(node, (*tensors)[*place]);
}

bool CountTensors(RuleContext& /*context*/, Node* node, Patch& patch) {
  const auto tensors = TensorsOf(node->input(0));
  if (!tensors.has_value()) return false;
  return patch.Substitute(
      node, patch.Constant("length", Tensor::Of<int64_t>({}, {std::ssize(*tensors)})));
}

bool JoinTensors(RuleContext& /*context*/, Node* node, Patch& patch) {
  auto tensors = TensorsOf(node->input(0));
  const AttributeValue* axis = node->attribute("axis");
  if (!tensors.has_value() || tensors->empty() || axis == nullptr) return false;
  if (AttributeOr<int64_t>(*node, "new_axis", 0) != 0) {
    Value* axes = patch.Ints({AttributeOr<int64_t>(*node, "axis", 0)});
    for (Value*& tensor : *tensors) tensor = patch.Op("Unsqueeze", {tensor, axes});
  }
  return patch.Substitute(node, "Concat", *std::move(tensors), {{"axis", *axis}});
}

// The element of an optional, or a tensor or sequence itself; null if there may be none.
Value* ElementOf(Value* optional) {
  if (optional == nullptr) return nullptr;
  if (const Node* node = ProducerOf(optional, "Optional")) return node->input(0);
  return IsOptional(optional->type().kind) ? nullptr : optional;
}

bool TakeElement(RuleContext& /*context*/, Node* node, Patch& patch) {
  Value* element = ElementOf(node->input(0));
  return element != nullptr && patch.Substitute(node, element);
}

bool AskForElement(RuleContext& /*context*/, Node* node, Patch& patch) {
  const Value* optional = node->input(0);
  const Node* made = ProducerOf(optional, "Optional");
  const bool lacks = optional == nullptr || (made != nullptr && made->input(0) == nullptr);
  if (!lacks && ElementOf(node->input(0)) == nullptr) return false;
  return patch.Substitute(node,
                          patch.Constant("has_element", FromInts(DataType::kBool, {}, {!lacks})));
}

}  // namespace

extern const Rule kKnownSequences = {
    .name = "known_sequences",
    .summary =
        "A sequence of a known number of tensors disappears: its readers read the tensors, "
        "and SplitToSequence becomes a Split",
    .starts = {{{"SplitToSequence", WriteSplit},
                {"SequenceInsert", InsertTensor},
                {"SequenceErase", EraseTensor},
                {"SequenceAt", TakeTensor},
                {"SequenceLength", CountTensors},
                {"ConcatFromSequence", JoinTensors},
                {"OptionalGetElement", TakeElement},
                {"OptionalHasElement", AskForElement}}}};

}  // namespace attnrun::opt
