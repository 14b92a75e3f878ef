#include "optimizer/fusions/projection/merge.h"

#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/file_pages.h"
#include "core/parallel.h"
#include "core/status.h"
#include "optimizer/node_queries.h"

namespace attnrun {
namespace {

bool TransposedWeight(const Node& node) { return AttributeOr<int64_t>(node, "trans_w", 0) != 0; }

int64_t Columns(const Node& node) {
  return node.input(1)->constant()->dim(TransposedWeight(node) ? 0 : 1);
}

int64_t Rows(const Node& node) {
  return node.input(1)->constant()->dim(TransposedWeight(node) ? 1 : 0);
}

// Whether the weights can stand beside each other; where not, the model fails when it runs.
bool SameRows(const std::vector<Node*>& linears) {
  return absl::c_all_of(linears, [&](const Node* linear) {
    return Rows(*linear) == Rows(*linears[0]) &&
           linear->input(1)->constant()->type() == linears[0]->input(1)->constant()->type();
  });
}

// Columns [column, column + Columns(linear)) of `rows` rows of `to` become the linear's weight.
void CopyBeside(const Node& linear, int64_t rows, int64_t column, int64_t columns, size_t width,
                char* to) {
  const Tensor& weight = *linear.input(1)->constant();
  const auto* from = static_cast<const char*>(weight.raw());
  const int64_t count = Columns(linear);
  constexpr int64_t kRowsPerPiece = 64;
  ParallelFor(rows, kRowsPerPiece, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* target = to + (row * columns + column) * width;
      if (!TransposedWeight(linear)) {
        std::memcpy(target, from + row * count * width, count * width);
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(target + i * width, from + (i * rows + row) * width, width);
      }
    }
  });
  ReleaseFilePages(from, weight.byte_size());
}

// [K, N] of the weights side by side, whichever way round each is stored.
absl::StatusOr<Tensor> Beside(const std::vector<Node*>& linears) {
  const Tensor& first = *linears[0]->input(1)->constant();
  const int64_t rows = Rows(*linears[0]);
  int64_t columns = 0;
  for (const Node* linear : linears) columns += Columns(*linear);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor merged,
                           Tensor::Allocate(first.type(), {rows, columns}, Allocator::Heap()));
  const size_t width =
      merged.byte_size() / static_cast<size_t>(std::max<int64_t>(1, rows * columns));
  auto* to = static_cast<char*>(merged.mutable_raw());
  int64_t column = 0;
  for (const Node* linear : linears) {
    CopyBeside(*linear, rows, column, columns, width, to);
    column += Columns(*linear);
  }
  return merged;
}

// Tensors one after the other.
absl::StatusOr<Tensor> Joined(const std::vector<const Tensor*>& parts, Shape shape) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor merged,
                           Tensor::Allocate(parts[0]->type(), shape, Allocator::Heap()));
  auto* to = static_cast<char*>(merged.mutable_raw());
  for (const Tensor* part : parts) {
    std::memcpy(to, part->raw(), part->byte_size());
    to += part->byte_size();
  }
  return merged;
}

absl::StatusOr<Tensor> MergeBiases(const std::vector<Node*>& linears, int64_t columns) {
  std::vector<Tensor> zeros(linears.size());
  std::vector<const Tensor*> parts;
  const DataType type = linears[0]->input(1)->constant()->type();
  for (size_t i = 0; i < linears.size(); ++i) {
    const Value* bias = linears[i]->input(2);
    if (bias == nullptr) {
      const int64_t count = Columns(*linears[i]);
      ATTNRUN_ASSIGN_OR_RETURN(zeros[i],
                               FromDoubles(type, {count}, std::vector<double>(count, 0.0)));
    }
    parts.push_back(bias == nullptr ? &zeros[i] : bias->constant());
  }
  return Joined(parts, {columns});
}

std::string KeyOf(const std::vector<Node*>& linears) {
  std::string key;
  for (const Node* linear : linears) {
    const Value* bias = linear->input(2);
    absl::StrAppend(&key, linear->input(1)->name(), "+", bias == nullptr ? "" : bias->name(), ";");
  }
  return key;
}

}  // namespace

bool LinearMerger::CanMerge(const Node& node, std::string& why) {
  if (node.qualified_op_type() != "attnrun.Linear") {
    why = absl::StrCat("the weight of ", node.description(), " is not constant");
    return false;
  }
  const bool plain =
      node.input(3) == nullptr && AttributeOr<std::string>(node, "activation", "").empty();
  const Value* bias = node.input(2);
  if (!plain) why = absl::StrCat(node.description(), " has an activation or residual");
  if (plain && node.input(1)->is_constant() && (bias == nullptr || bias->is_constant()))
    return true;
  if (plain) why = absl::StrCat("the weight or bias of ", node.description(), " is not constant");
  return false;
}

bool LinearMerger::SharedElsewhere(const std::vector<Node*>& linears, std::string& why) const {
  // A layer with the same weights: each of them multiplies its input, too.
  const auto multiplies = [](const Value* x) {
    return [x](const Node* linear) {
      return absl::c_any_of(linear->input(1)->consumers(), [x](const Node* other) {
        return other->qualified_op_type() == "attnrun.Linear" && other->input(0) == x;
      });
    };
  };
  for (const Node* linear : linears) {
    if (!unmerged_.contains(linear->input(1))) continue;
    why = absl::StrCat("the weight '", linear->input(1)->name(),
                       "' is shared with projections that are not merged");
    return true;
  }
  for (size_t i = 0; i < linears.size(); ++i) {
    for (const Node* other : linears[i]->input(1)->consumers()) {
      if (absl::c_linear_search(linears, other)) continue;
      const bool linear = other->qualified_op_type() == "attnrun.Linear";
      if (linear && absl::c_all_of(linears, multiplies(other->input(0)))) continue;
      why = absl::StrCat("the weight '", linears[i]->input(1)->name(), "' is shared with ",
                         other->description(), " and would have to be copied");
      return true;
    }
  }
  return false;
}

absl::StatusOr<LinearMerger::Merged> LinearMerger::MergedWeights(
    Patch& patch, const std::vector<Node*>& linears) {
  Merged& merged = merged_[KeyOf(linears)];
  if (merged.weight != nullptr) return merged;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor weight, Beside(linears));
  const int64_t columns = weight.dim(1);
  merged.weight = patch.Constant(absl::StrCat(linears[0]->input(1)->name(), "/merged"), weight);
  const bool has_bias =
      absl::c_any_of(linears, [](const Node* linear) { return linear->input(2) != nullptr; });
  if (has_bias) {
    merged.bias = patch.Constant(absl::StrCat(linears[0]->input(1)->name(), "/merged_bias"),
                                 MergeBiases(linears, columns));
  }
  return merged;
}

absl::StatusOr<int> LinearMerger::Merge(const std::vector<Node*>& linears, const Node& anchor) {
  std::string why;
  if (SharedElsewhere(linears, why)) {
    for (const Node* linear : linears) unmerged_.insert(linear->input(1));
    context_.Miss(anchor, why);
    return 0;
  }
  if (!SameRows(linears)) return 0;
  Patch patch(context_);
  patch.Supersede(linears);
  ATTNRUN_ASSIGN_OR_RETURN(const Merged merged, MergedWeights(patch, linears));
  std::vector<Value*> inputs = {linears[0]->input(0), merged.weight};
  if (merged.bias != nullptr) inputs.push_back(merged.bias);
  Value* product = patch.Op("attnrun::Linear", inputs, {}, linears[0]->name());
  std::vector<int64_t> widths;
  for (const Node* linear : linears) widths.push_back(Columns(*linear));
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(linears.size()), {product, patch.Ints(widths)},
                {{"axis", int64_t{-1}}});
  for (size_t i = 0; i < linears.size(); ++i) patch.Replace(linears[i]->output(0), parts[i]);
  return patch.Apply();
}

}  // namespace attnrun
