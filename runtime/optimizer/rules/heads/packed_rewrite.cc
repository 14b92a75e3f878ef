// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/heads/packed_rewrite.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rules/attention/head_views.h"

namespace attnrun::opt {
namespace {

// The limit on chains that are followed to see if something reads their end.
constexpr int kMaxDepth = 12;

// Takes a value of heads out of `packed` by the views that take it out of `base`.
Value* UnpackHeads(Patch& patch, const Value* heads, const Value* base, Value* packed) {
  if (heads == base) return packed;
  const Node& view = *heads->producer();
  std::vector<Value*> inputs = view.inputs();
  inputs[0] = UnpackHeads(patch, inputs[0], base, packed);
  return patch.Again(view, inputs, view.attributes())[heads->producer_index()];
}

}  // namespace

void PackedRewrite::Add(Node* node, PackedHeads heads) {
  nodes_.push_back(node);
  heads_.push_back(std::move(heads));
}

std::vector<int64_t> PackedRewrite::Offsets() const {
  std::vector<int64_t> offsets;
  for (const PackedHeads& heads : heads_) {
    offsets.insert(offsets.end(), heads.offsets.begin(), heads.offsets.end());
  }
  absl::c_sort(offsets);
  return offsets;
}

bool PackedRewrite::IsRead(const Value* value, int depth) const {
  if (context_.graph.IsOutput(value) || depth == 0) return true;
  return absl::c_any_of(value->consumers(), [&](const Node* reader) {
    if (absl::c_linear_search(nodes_, reader)) return false;
    if (!MovesElements(*reader) || reader->input(0) != value) return true;
    return absl::c_any_of(reader->outputs(), [&](const Value* output) {
      return output != nullptr && IsRead(output, depth - 1);
    });
  });
}

bool PackedRewrite::AreOthers(const View& view) const {
  std::vector<bool> taken(heads_[0].width, false);
  for (const PackedHeads& heads : heads_) {
    for (const int64_t offset : heads.offsets) {
      std::fill_n(taken.begin() + offset, heads.head_size, true);
    }
  }
  // A stride that is a multiple of the width steps from row to row; all others must stay in the
  // row.
  const auto offset = view.offset().constant();
  if (!offset.has_value()) return false;
  std::vector<int64_t> columns = {*offset};
  for (const ViewAxis& axis : view.axes()) {
    for (const ViewFactor& factor : axis) {
      if (SymInt::DivideExactly(factor.stride, SymInt(heads_[0].width)).has_value()) continue;
      const auto size = factor.size.constant();
      const auto stride = factor.stride.constant();
      const int64_t last = stride.has_value() && size.has_value() ? (*size - 1) * *stride : -1;
      if (last < 0 || last >= heads_[0].width) return false;
      const size_t before = columns.size();
      if (static_cast<int64_t>(before) * *size > heads_[0].width) return false;
      for (int64_t step = 1; step < *size; ++step) {
        for (size_t i = 0; i < before; ++i) columns.push_back(columns[i] + step * *stride);
      }
    }
  }
  return absl::c_all_of(columns, [&](int64_t column) {
    return column >= 0 && column < heads_[0].width && !taken[column];
  });
}

bool PackedRewrite::ReadsOtherColumns(const Node& reader) const {
  Facts& facts = context_.facts;
  const View base = View::Dense(*facts.DimsOf(base_));
  if (IsFusedAttention(reader)) {
    for (size_t i = 0; i < reader.inputs().size(); ++i) {
      if (reader.input(i) != base_) continue;
      if (i >= ops::FusedAttention::kLayoutNames.size()) return false;
      const auto view = HeadsOf(reader, i, base);
      if (!view.has_value() || !AreOthers(*view)) return false;
    }
    return true;
  }
  if (!MovesElements(reader) || reader.input(0) != base_) return false;
  if (absl::c_count(reader.inputs(), base_) != 1) return false;
  return absl::c_all_of(reader.outputs(), [&](Value* output) {
    if (output == nullptr || !IsRead(output, kMaxDepth)) return true;
    const auto view = ApplyViewNode(reader, *output, base, facts);
    return view.has_value() && AreOthers(*view);
  });
}

bool PackedRewrite::LeadTo(absl::Span<Value* const> operands) const {
  constexpr size_t kMaxNodes = 256;
  HashSet<const Node*> seen;
  std::vector<const Value*> open(operands.begin(), operands.end());
  while (!open.empty() && !other_readers_.empty()) {
    const Node* node = open.back() == nullptr ? nullptr : open.back()->producer();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (absl::c_linear_search(other_readers_, node) || seen.size() > kMaxNodes) return true;
    open.insert(open.end(), node->inputs().begin(), node->inputs().end());
    open.insert(open.end(), node->implicit_inputs().begin(), node->implicit_inputs().end());
  }
  return false;
}

bool PackedRewrite::IsAlone(absl::Span<Value* const> operands) {
  const auto read_elsewhere = [&](absl::string_view by) {
    context_.Miss(*nodes_[0], absl::StrCat(Quoted(base_->name()), " is also ", by));
    return false;
  };
  if (context_.graph.IsOutput(base_)) return read_elsewhere("a graph output");
  for (Node* reader : base_->consumers()) {
    if (absl::c_linear_search(nodes_, reader)) continue;
    if (absl::c_linear_search(other_readers_, reader)) continue;
    if (MovesElements(*reader) && reader->input(0) == base_) {
      const auto read = [&](Value* output) {
        return output != nullptr && IsRead(output, kMaxDepth);
      };
      if (absl::c_none_of(reader->outputs(), read)) continue;
    }
    if (!ReadsOtherColumns(*reader)) {
      return read_elsewhere(absl::StrCat("read by ", reader->description()));
    }
    other_readers_.push_back(reader);
  }
  return !LeadTo(operands) || read_elsewhere("what its own angles are made from");
}

void PackedRewrite::Write(Patch& patch, Value* packed) {
  patch.Supersede(nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    patch.Replace(nodes_[i]->output(0), UnpackHeads(patch, nodes_[i]->input(0), base_, packed));
  }
  for (Node* reader : other_readers_) {
    std::vector<Value*> inputs = reader->inputs();
    absl::c_replace(inputs, base_, packed);
    patch.Rewrite(reader, inputs, reader->attributes());
  }
}

}  // namespace attnrun::opt
