// SPDX-License-Identifier: Apache-2.0

// Exporters split a projection into heads before they rotate Q and K, or normalize each head of
// them. Where the heads lie in one packed projection, one operator works on all of them there, so
// that nothing is moved between the projection and the attention:
//
//        Linear [B,S,(Nq+2*Nkv)*H]                   Linear [B,S,(Nq+2*Nkv)*H]
//          |                                            |
//        Split                                   attnrun.RotaryEmbedding
//      /   |   \                                    {head_offsets of Q and K}
//  Reshape Reshape \                                    |
//     |    |        |                                 Slice
//  Transpose Transpose|                       ->    /   |   \  .
//     |    |        |                         Reshape Reshape \  .
//  Rotary Rotary    |                            |      |      |
//    \     |       /                        Transpose Transpose|
//      Attention                                  \     |     /
//                                                  Attention
//
// Likewise for RMSNormalization, which becomes attnrun.HeadRmsNormalization. The views behind the
// operator then become a part of the attention's layouts. Queries and keys from separate
// projections are worked on each in their own.

#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/heads/packed_rewrite.h"

namespace attnrun::opt {
namespace {

// The work of a node on heads of the rows `base`. Nodes that do the same are packed into one, even
// if their norms have different scales.
struct HeadWork {
  Value* base = nullptr;
  int64_t head_size = 0;
  // Absent for a rotation.
  std::optional<float> epsilon;
  // The angles of a rotation, and how they are applied.
  std::vector<Value*> angles;
  int64_t interleaved = 0;
  int64_t rotated = 0;

  friend bool operator==(const HeadWork&, const HeadWork&) = default;
};

// Made of parts that are moved: GCC frees those of a list twice if the copy of another part throws.
struct Found {
  HeadWork work;
  PackedHeads heads;
};

// True if the RMSNormalization is over the last axis, with a constant scale.
bool IsHeadNorm(const Node& node, Facts& facts) {
  const int rank = facts.RankOf(node.input(0));
  if (rank != 3 && rank != 4) return false;
  const int64_t axis = AttributeOr<int64_t>(node, "axis", -1);
  const Value* scale = node.input(1);
  const bool is_row = scale->is_constant() && scale->constant()->rank() == 1;
  if ((axis != -1 && axis != rank - 1) || !is_row) return false;
  return scale->constant()->type() == facts.TypeOf(node.input(0)) &&
         AttributeOr<int64_t>(node, "stash_type", 1) == 1;
}

std::optional<Found> FindNorm(const Node& node, Facts& facts) {
  if (!IsHeadNorm(node, facts)) return std::nullopt;
  auto heads = FindPackedHeads(node.input(0), 1, facts);
  if (!heads.has_value() || node.input(1)->constant()->dim(0) != heads->head_size) {
    return std::nullopt;
  }
  // A norm over whole rows is left as an ordinary one.
  if (heads->width == heads->head_size) return std::nullopt;
  HeadWork work;
  work.base = heads->base;
  work.head_size = heads->head_size;
  work.epsilon = AttributeOr(node, "epsilon", 1e-5F);
  return Found{std::move(work), *std::move(heads)};
}

std::optional<Found> FindRotation(const Node& node, Facts& facts) {
  auto heads = FindPackedHeads(node.input(0), AttributeOr<int64_t>(node, "num_heads", 0), facts);
  if (!heads.has_value()) return std::nullopt;
  const auto rotated = AttributeOr<int64_t>(node, "rotary_embedding_dim", 0);
  HeadWork work;
  work.base = heads->base;
  work.head_size = heads->head_size;
  work.angles.assign(node.inputs().begin() + 1, node.inputs().end());
  work.interleaved = AttributeOr<int64_t>(node, "interleaved", 0);
  work.rotated = rotated == 0 ? heads->head_size : rotated;
  return Found{std::move(work), *std::move(heads)};
}

std::optional<Found> Find(const Node& node, Facts& facts) {
  static constexpr std::pair<absl::string_view, std::optional<Found> (*)(const Node&, Facts&)>
      kWorks[] = {{"RotaryEmbedding", FindRotation}, {"RMSNormalization", FindNorm}};
  const auto* work = node.output(0) == nullptr ? nullptr : EntryOf(kWorks, &node);
  return work == nullptr ? std::nullopt : work->second(node, facts);
}

// The scale of each head, [heads, H], in the order of the columns.
absl::StatusOr<Tensor> Scales(const PackedRewrite& rewrite) {
  std::map<int64_t, const Tensor*> by_offset;
  for (size_t i = 0; i < rewrite.nodes().size(); ++i) {
    const Tensor* scale = rewrite.nodes()[i]->input(1)->constant();
    for (const int64_t offset : rewrite.heads()[i].offsets) by_offset[offset] = scale;
  }
  std::vector<double> rows;
  for (const auto& [offset, scale] : by_offset) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> row, ToDoubles(*scale));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto count = static_cast<int64_t>(by_offset.size());
  return FromDoubles(by_offset.begin()->second->type(), {count, rewrite.heads()[0].head_size},
                     rows);
}

// True if both begin a head within the same columns, as two norms of one shared projection do.
bool Overlap(const PackedHeads& a, const PackedHeads& b) {
  return absl::c_any_of(a.offsets, [&](int64_t offset) {
    return absl::c_any_of(b.offsets,
                          [&](int64_t other) { return std::abs(offset - other) < a.head_size; });
  });
}

// Adds the nodes behind views of the base that do this work, each on columns of its own.
void Collect(const HeadWork& work, Facts& facts, PackedRewrite& rewrite) {
  // Projections have fewer readers.
  constexpr int kMostVisits = 256;
  int visits = 0;
  std::vector<const Value*> open = {work.base};
  while (!open.empty()) {
    const Value& value = *open.back();
    open.pop_back();
    for (Node* reader : value.consumers()) {
      if (++visits > kMostVisits) return;
      auto found = Find(*reader, facts);
      const bool fits = found.has_value() && found->work == work;
      const auto overlaps = [&](const PackedHeads& heads) { return Overlap(found->heads, heads); };
      if (fits && absl::c_none_of(rewrite.heads(), overlaps)) {
        rewrite.Add(reader, std::move(found->heads));
      }
      if (!MovesElements(*reader)) continue;
      absl::c_copy_if(reader->outputs(), std::back_inserter(open),
                      [](const Value* output) { return output != nullptr; });
    }
  }
}

// Packs all nodes that do the same as this one, at the first of them.
bool PackHeads(RuleContext& context, Node* node, Patch& patch) {
  const auto found = Find(*node, context.facts);
  if (!found.has_value()) return false;
  const HeadWork& work = found->work;
  PackedRewrite rewrite(context, work.base);
  Collect(work, context.facts, rewrite);
  if (rewrite.nodes().empty() || rewrite.nodes()[0] != node) return false;
  if (!rewrite.IsAlone(work.angles)) return false;
  std::vector<Value*> inputs = {work.base};
  inputs.insert(inputs.end(), work.angles.begin(), work.angles.end());
  AttributeMap attributes = {{"head_size", work.head_size}, {"head_offsets", rewrite.Offsets()}};
  if (work.epsilon.has_value()) {
    inputs.push_back(patch.Constant(node->input(1)->name(), Scales(rewrite)));
    attributes["epsilon"] = *work.epsilon;
  } else {
    attributes["interleaved"] = work.interleaved;
    attributes["rotary_embedding_dim"] = work.rotated;
  }
  const char* op =
      work.epsilon.has_value() ? "attnrun::HeadRmsNormalization" : "attnrun::RotaryEmbedding";
  rewrite.Write(patch, patch.Op(op, std::move(inputs), std::move(attributes), node->name()));
  return true;
}

}  // namespace

extern const Rule kHeadOperators = {
    .name = "head_operators",
    .summary =
        "Heads of Q and K are normalized and rotated where they lie in the packed projection",
    .anchors = {"RMSNormalization", "RotaryEmbedding"},
    .propose = PackHeads,
    .aliases = {"head_normalization", "packed_rotary"}};

}  // namespace attnrun::opt
