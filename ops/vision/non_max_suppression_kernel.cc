// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/vision/non_max_suppression.h"

namespace attnrun::ops {
namespace {

// A box by its corners. The numbers are double, as a decision at the threshold must not depend on
// rounding.
struct Corners {
  double low[2];
  double high[2];
  double area;
};

Corners ReadCorners(const float* box, bool centered) {
  Corners corners;
  for (int i = 0; i < 2; ++i) {
    const double a = box[i];
    const double b = box[i + 2];
    corners.low[i] = centered ? a - b / 2 : std::min(a, b);
    corners.high[i] = centered ? a + b / 2 : std::max(a, b);
  }
  corners.area = (corners.high[0] - corners.low[0]) * (corners.high[1] - corners.low[1]);
  return corners;
}

bool Overlap(const Corners& a, const Corners& b, double threshold) {
  const double height = std::min(a.high[0], b.high[0]) - std::max(a.low[0], b.low[0]);
  const double width = std::min(a.high[1], b.high[1]) - std::max(a.low[1], b.low[1]);
  if (!(height > 0 && width > 0 && a.area > 0 && b.area > 0)) return false;
  const double both = height * width;
  const double either = a.area + b.area - both;
  return both > 0 && either > 0 && both / either > threshold;
}

// Each class of each sample is a piece of work. The candidates are a heap, since often few of them
// are looked at.
class SuppressionKernel final : public Kernel {
 public:
  explicit SuppressionKernel(bool centered) : centered_(centered) {}

  absl::string_view name() const override { return "heap"; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const SuppressionLimits limits,
                             NonMaxSuppression::ReadLimits(context));
    const Tensor& scores = context.input(1);
    const int64_t classes = scores.dim(1);
    const int64_t count = scores.dim(2);
    const int64_t pieces = count == 0 ? 0 : scores.dim(0) * classes;
    std::vector<std::vector<int64_t>> chosen(pieces);
    ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* boxes = context.input(0).data<float>() + i / classes * count * 4;
        chosen[i] = Choose(scores.data<float>() + i * count, boxes, count, limits);
      }
    });
    std::vector<Selected> rows;
    for (int64_t i = 0; i < pieces; ++i) {
      for (const int64_t box : chosen[i]) rows.push_back({i / classes, i % classes, box});
    }
    return SetSelected(context, rows);
  }

 private:
  std::vector<int64_t> Choose(const float* scores, const float* boxes, int64_t count,
                              const SuppressionLimits& limits) const {
    std::vector<int64_t> heap;
    for (int64_t i = 0; i < count; ++i) {
      const bool enough = limits.score ? scores[i] > *limits.score : scores[i] == scores[i];
      if (enough) heap.push_back(i);
    }
    const auto later = [&](int64_t a, int64_t b) {
      return scores[a] < scores[b] || (scores[a] == scores[b] && a > b);
    };
    std::make_heap(heap.begin(), heap.end(), later);
    std::vector<int64_t> chosen;
    std::vector<Corners> corners;
    while (!heap.empty() && static_cast<int64_t>(chosen.size()) < limits.most_per_class) {
      std::pop_heap(heap.begin(), heap.end(), later);
      const Corners box = ReadCorners(boxes + 4 * heap.back(), centered_);
      const bool overlaps = std::any_of(corners.begin(), corners.end(), [&](const Corners& other) {
        return Overlap(box, other, limits.iou);
      });
      if (!overlaps) {
        chosen.push_back(heap.back());
        corners.push_back(box);
        if (Interrupted()) break;
      }
      heap.pop_back();
    }
    return chosen;
  }

  const bool centered_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> NonMaxSuppression::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<SuppressionKernel>(centered_);
}

}  // namespace attnrun::ops
