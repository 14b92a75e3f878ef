// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/vision/non_max_suppression.h"

namespace attnrun::ops {
namespace {

struct Interval {
  double low;
  double high;
  double size() const { return high - low; }
};

// The extent of a box along x or y.
Interval Along(const double* box, bool centered, bool along_x) {
  if (centered) {
    const double center = box[along_x ? 0 : 1];
    const double half = box[along_x ? 2 : 3] / 2;
    return {center - half, center + half};
  }
  const double a = box[along_x ? 1 : 0];
  const double b = box[along_x ? 3 : 2];
  return {std::min(a, b), std::max(a, b)};
}

// The area that both boxes cover, over the area that one of them covers; 0 for boxes without area.
double IntersectionOverUnion(const double* a, const double* b, bool centered) {
  double both = 1;
  double area_a = 1;
  double area_b = 1;
  for (const bool along_x : {false, true}) {
    const Interval i = Along(a, centered, along_x);
    const Interval j = Along(b, centered, along_x);
    both *= std::max(0.0, std::min(i.high, j.high) - std::max(i.low, j.low));
    area_a *= i.size();
    area_b *= j.size();
  }
  const double either = area_a + area_b - both;
  return both > 0 && area_a > 0 && area_b > 0 && either > 0 ? both / either : 0;
}

}  // namespace

absl::Status NonMaxSuppression::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const SuppressionLimits limits, ReadLimits(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> boxes, ToDoubles(context.input(0)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scores, ToDoubles(context.input(1)));
  const int64_t classes = context.input(1).dim(1);
  const int64_t count = context.input(1).dim(2);
  std::vector<Selected> rows;
  for (int64_t i = 0; count > 0 && i < context.input(1).dim(0) * classes; ++i) {
    const double* score = scores.data() + i * count;
    const double* box = boxes.data() + i / classes * count * 4;
    std::vector<int64_t> candidates;
    for (int64_t j = 0; j < count; ++j) {
      if (std::isnan(score[j]) || (limits.score && !(score[j] > *limits.score))) continue;
      candidates.push_back(j);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    std::vector<int64_t> chosen;
    for (const int64_t j : candidates) {
      if (static_cast<int64_t>(chosen.size()) >= limits.most_per_class || Interrupted()) break;
      const bool overlaps = std::any_of(chosen.begin(), chosen.end(), [&](int64_t other) {
        return IntersectionOverUnion(box + 4 * j, box + 4 * other, centered_) > limits.iou;
      });
      if (overlaps) continue;
      chosen.push_back(j);
      rows.push_back({i / classes, i % classes, j});
    }
  }
  return SetSelected(context, rows);
}

}  // namespace attnrun::ops
