// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum/einsum.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

absl::Status Malformed(absl::string_view equation, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("equation ", Quoted(equation), ": ", why));
}

// The labels of a term. `ellipsis`: the number of axes that "..." stands for.
absl::StatusOr<Labels> ParseTerm(absl::string_view equation, absl::string_view term,
                                 int64_t ellipsis) {
  Labels labels;
  bool seen = false;
  while (!term.empty()) {
    if (absl::ConsumePrefix(&term, "...")) {
      if (seen) return Malformed(equation, "a term has two ellipses");
      seen = true;
      for (int64_t i = ellipsis; i-- > 0;) labels.push_back(kEllipsis + static_cast<Label>(i));
      continue;
    }
    if (!absl::ascii_isalpha(static_cast<unsigned char>(term[0]))) {
      return Malformed(equation, absl::StrCat("expected a letter or '...', but found ",
                                              Quoted(term.substr(0, 1))));
    }
    labels.push_back(static_cast<Label>(term[0]));
    term.remove_prefix(1);
  }
  return labels;
}

// The labels of an operand. Its rank fixes the number of axes that "..." stands for.
absl::StatusOr<Labels> ParseOperand(absl::string_view equation, absl::string_view term, int index,
                                    const Shape& shape) {
  const auto letters = absl::c_count_if(term, [](char c) { return c != '.'; });
  const auto rank = static_cast<int64_t>(shape.size());
  const bool has_ellipsis = absl::StrContains(term, "...");
  if (has_ellipsis ? letters > rank : letters != rank) {
    return Malformed(
        equation, absl::StrCat("term ", Quoted(term), " does not name the axes of operand ", index,
                               ", ", ToString(shape)));
  }
  return ParseTerm(equation, term, rank - letters);
}

// The output of an equation without "->": the broadcast axes, then the labels that occur exactly
// once, in alphabetical order.
Labels ImplicitOutput(const std::vector<Labels>& operands) {
  Labels all;
  for (const Labels& labels : operands) all.insert(all.end(), labels.begin(), labels.end());
  Labels output;
  Labels once;
  for (const Label label : all) {
    if (label < kEllipsis && absl::c_count(all, label) == 1) once.push_back(label);
    if (label >= kEllipsis && !absl::c_linear_search(output, label)) output.push_back(label);
  }
  absl::c_sort(output, std::greater<Label>());
  absl::c_sort(once);
  output.insert(output.end(), once.begin(), once.end());
  return output;
}

absl::Status AddExtents(absl::string_view equation, const Labels& labels, const Shape& shape,
                        EinsumShape& result) {
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const auto known = absl::c_find_if(
        result.extents, [&](const auto& entry) { return entry.first == labels[axis]; });
    if (known == result.extents.end()) {
      result.extents.emplace_back(labels[axis], shape[axis]);
    } else if (known->second == 1) {
      known->second = shape[axis];
    } else if (shape[axis] != 1 && shape[axis] != known->second) {
      const std::string name = labels[axis] < kEllipsis
                                   ? std::string(1, static_cast<char>(labels[axis]))
                                   : std::string("...");
      return Malformed(
          equation, absl::StrCat(Quoted(name), " is both ", known->second, " and ", shape[axis]));
    }
  }
  return absl::OkStatus();
}

// The labels of the term after "->". `ellipsis`: the number of axes that "..." stands for.
absl::StatusOr<Labels> ParseOutput(absl::string_view equation, absl::string_view term,
                                   int64_t ellipsis, const EinsumShape& shape) {
  ATTNRUN_ASSIGN_OR_RETURN(Labels labels, ParseTerm(equation, term, ellipsis));
  for (const Label label : labels) {
    if (absl::c_count(labels, label) > 1) return Malformed(equation, "the output repeats a label");
    if (absl::c_none_of(shape.extents, [&](const auto& entry) { return entry.first == label; })) {
      return Malformed(equation, "the output has a label that no operand has");
    }
  }
  return labels;
}

}  // namespace

int64_t EinsumShape::extent(Label label) const {
  return absl::c_find_if(extents, [&](const auto& entry) { return entry.first == label; })->second;
}

absl::StatusOr<EinsumShape> ResolveEinsum(absl::string_view equation,
                                          absl::Span<const Shape> operands) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2) return Malformed(equation, "more than one '->'");
  if (terms.size() != operands.size()) {
    return Malformed(equation,
                     absl::StrCat(terms.size(), " terms for ", operands.size(), " operands"));
  }
  EinsumShape result;
  int64_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Labels labels,
                             ParseOperand(equation, terms[i], static_cast<int>(i), operands[i]));
    ATTNRUN_RETURN_IF_ERROR(AddExtents(equation, labels, operands[i], result));
    ellipsis = std::max<int64_t>(
        ellipsis, absl::c_count_if(labels, [](Label label) { return label >= kEllipsis; }));
    result.operands.push_back(std::move(labels));
  }
  if (sides.size() == 2) {
    ATTNRUN_ASSIGN_OR_RETURN(result.output, ParseOutput(equation, sides[1], ellipsis, result));
  } else {
    result.output = ImplicitOutput(result.operands);
  }
  for (const auto& [label, extent] : result.extents) {
    if (!absl::c_linear_search(result.output, label)) result.summed.push_back(label);
  }
  for (const Label label : result.output) result.output_shape.push_back(result.extent(label));
  ATTNRUN_RETURN_IF_ERROR(NumElements(result.output_shape).status());
  return result;
}

Shape LabelStrides(const Labels& operand, absl::Span<const int64_t> shape, const Labels& labels) {
  const Shape dense = DenseStrides(shape);
  Shape strides(labels.size(), 0);
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t axis = 0; axis < operand.size(); ++axis) {
      if (operand[axis] == labels[i] && shape[axis] != 1) strides[i] += dense[axis];
    }
  }
  return strides;
}

Einsum::Einsum(AttributeReader& attributes)
    : equation_(attributes.Required<std::string>("equation")) {}

void RegisterEinsum(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Einsum",
                     .since = {12, 28},
                     .inputs = ListOf(1),
                     .outputs = {1, 1},
                     .make = Make<Einsum>,
                     .traits = kMultiplies});
}

}  // namespace attnrun::ops
