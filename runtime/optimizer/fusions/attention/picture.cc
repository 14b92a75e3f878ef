#include "optimizer/fusions/attention/picture.h"

namespace attnrun {
namespace {

SymInt Product(absl::Span<const SymInt> dims) {
  SymInt product(1);
  for (const SymInt& extent : dims) product = product * extent;
  return product;
}

}  // namespace

std::optional<size_t> LeadingAxes(absl::Span<const SymInt> picture,
                                  absl::Span<const SymInt> scores) {
  size_t first = picture.size();
  for (const SymInt& whole : {scores[scores.size() - 1], scores[scores.size() - 2]}) {
    SymInt extent(1);
    while (extent != whole && first > 0) extent = extent * picture[--first];
    if (extent != whole) return std::nullopt;
  }
  return first;
}

bool KeepsLastTwo(absl::Span<const SymInt> to, absl::Span<const SymInt> from) {
  const bool queries = to[to.size() - 2] == from[from.size() - 2];
  const bool keys = to.back() == from.back();
  if (queries && keys) return true;
  // A view keeps the number of elements: where the axes before agree, and one of these, the other
  // does, whatever it is called.
  return (queries || keys) &&
         Product(to.first(to.size() - 2)) == Product(from.first(from.size() - 2));
}

void LeavePicture(Scores& scores, const std::vector<SymInt>& dims) {
  scores.picture.clear();
  for (ScoreBias& bias : scores.biases) {
    if (!bias.operand.picture.empty()) bias.operand.dims = dims;
  }
  for (Scores::Mask& mask : scores.masks) {
    if (!mask.operand.picture.empty()) mask.operand.dims = dims;
  }
}

}  // namespace attnrun
