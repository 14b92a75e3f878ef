// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/resize_weighted_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_table.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[j] = the sum of output position i over rows of `inner` floats.
void SumRows(const WeightTable& table, int64_t i, int64_t inner, const float* HWY_RESTRICT from,
             float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Taps of weight 0 come last.
  int64_t taps = table.taps;
  while (taps > 0 && table.weights[(taps - 1) * table.outputs + i] == 0) --taps;
  const auto sum = [&](auto load, int64_t j) HWY_ATTR {
    auto total = hn::Set(d, table.start[i]);
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t at = k * table.outputs + i;
      const float* const row = from + table.positions[at] * inner;
      total = hn::MulAdd(load(row + j), hn::Set(d, table.weights[at]), total);
    }
    return total;
  };
  int64_t j = 0;
  for (; j + lanes <= inner; j += lanes) {
    hn::StoreU(sum([&](const float* p) HWY_ATTR { return hn::LoadU(d, p); }, j), d, to + j);
  }
  const size_t rest = inner - j;
  if (rest == 0) return;
  hn::StoreN(sum([&](const float* p) HWY_ATTR { return hn::LoadN(d, p, rest); }, j), d, to + j,
             rest);
}

// to[i] = the sum of output position i, for all of them, over a line of floats.
void SumLine(const WeightTable& table, const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < table.outputs; i += lanes) {
    const size_t count = std::min(lanes, table.outputs - i);
    auto total = hn::LoadN(d, table.start.data() + i, count);
    for (int64_t k = 0; k < table.taps; ++k) {
      const int64_t at = k * table.outputs + i;
      const auto weight = hn::LoadN(d, table.weights.data() + at, count);
      const auto x = hn::GatherIndex(d, from, hn::LoadN(di, table.positions.data() + at, count));
      // An infinity of weight 0 must not make the sum NaN.
      const auto counted = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), x);
      total = hn::MulAdd(counted, weight, total);
    }
    hn::StoreN(total, d, to + i, count);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {
namespace {

HWY_EXPORT(SumRows);
HWY_EXPORT(SumLine);

// Resizes one axis: [outer, input, inner] to [outer, output, inner].
struct Pass {
  WeightTable table;
  int64_t input;
  int64_t inner;

  // Units of work of one image of `outer` slices, and floats of a unit: rows, or lines along the
  // innermost axis.
  int64_t units(int64_t outer) const { return inner == 1 ? outer : outer * table.outputs; }
  int64_t unit_size() const { return inner == 1 ? table.outputs : inner; }

  void Run(int64_t begin, int64_t end, const float* from, float* to) const {
    const auto rows = HWY_DYNAMIC_POINTER(SumRows);
    const auto line = HWY_DYNAMIC_POINTER(SumLine);
    for (int64_t unit = begin; unit < end; ++unit) {
      if (unit % 256 == 0 && Interrupted()) return;
      if (inner == 1) {
        line(table, from + unit * input, to + unit * table.outputs);
      } else {
        rows(table, unit % table.outputs, inner, from + unit / table.outputs * input * inner,
             to + unit * inner);
      }
    }
  }
};

// The passes of one call, in the order in which they run: shrinking axes first, so that no
// intermediate result is larger than both x and y. An outer axis costs less to resize than an
// inner one, so that it goes first where it shrinks, and last where it grows.
class Passes {
 public:
  Passes(const ResizeAttributes& attributes, const std::vector<ResizeAxis>& axes) {
    Shape shape;
    for (const ResizeAxis& axis : axes) shape.push_back(axis.input);
    std::vector<size_t> order;
    size_t first = axes.size();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (IsUnchanged(attributes, axes[i])) continue;
      order.push_back(i);
      first = std::min(first, i);
    }
    const auto growth = [&](size_t i) {
      return static_cast<double>(axes[i].output) / static_cast<double>(axes[i].input);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (growth(a) != growth(b)) return growth(a) < growth(b);
      return growth(a) > 1 ? a > b : a < b;
    });
    for (size_t i = 0; i < first; ++i) images_ *= axes[i].input;
    for (const size_t i : order) {
      passes_.push_back({.table = WeightsAlong(attributes, axes[i]),
                         .input = axes[i].input,
                         .inner = Product(shape, i + 1, shape.size())});
      shape[i] = axes[i].output;
      outers_.push_back(Product(shape, first, i));
      sizes_.push_back(Product(shape, first, shape.size()));
    }
    image_size_ = first == axes.size() ? 1 : Product(shape, first, shape.size());
    for (size_t i = 0; i + 1 < sizes_.size(); ++i) largest_ = std::max(largest_, sizes_[i]);
    input_size_ = 1;
    for (size_t i = first; i < axes.size(); ++i) input_size_ *= axes[i].input;
  }

  bool empty() const { return passes_.empty(); }

  absl::Status Run(const float* x, float* y, Allocator& allocator) const {
    // Images by themselves stay in cache from one pass to the next.
    return images_ >= 2 * NumThreads() ? RunImages(x, y, allocator) : RunAtOnce(x, y, allocator);
  }

 private:
  static int64_t Product(const Shape& shape, size_t begin, size_t end) {
    return std::accumulate(shape.begin() + begin, shape.begin() + end, int64_t{1},
                           std::multiplies<>());
  }

  // The least number of floats of a piece of work.
  static constexpr int64_t kLeast = 1 << 14;

  absl::Status RunImages(const float* x, float* y, Allocator& allocator) const {
    return ParallelForWithScratch(images_, kLeast / image_size_ + 1, 2 * largest_, allocator,
                                  [&](int64_t begin, int64_t end, float* scratch) {
                                    for (int64_t image = begin; image < end; ++image) {
                                      const float* from = x + image * input_size_;
                                      for (size_t i = 0; i < passes_.size(); ++i) {
                                        const bool last = i + 1 == passes_.size();
                                        float* const to =
                                            last ? y + image * image_size_
                                                 : scratch + static_cast<int64_t>(i % 2) * largest_;
                                        passes_[i].Run(0, passes_[i].units(outers_[i]), from, to);
                                        from = to;
                                      }
                                    }
                                  });
  }

  absl::Status RunAtOnce(const float* x, float* y, Allocator& allocator) const {
    const float* from = x;
    Tensor source;
    for (size_t i = 0; i < passes_.size(); ++i) {
      const Pass& pass = passes_[i];
      Tensor result;
      float* to = y;
      if (i + 1 < passes_.size()) {
        ATTNRUN_ASSIGN_OR_RETURN(
            result, Tensor::Allocate(DataType::kFloat, {images_ * sizes_[i]}, allocator));
        to = result.mutable_data<float>();
      }
      ParallelFor(images_ * pass.units(outers_[i]), kLeast / pass.unit_size() + 1,
                  [&](int64_t begin, int64_t end) { pass.Run(begin, end, from, to); });
      source = std::move(result);
      from = to;
    }
    return absl::OkStatus();
  }

  std::vector<Pass> passes_;
  // By pass: slices of an image, and floats of an image's result.
  std::vector<int64_t> outers_;
  std::vector<int64_t> sizes_;
  // Products of the axes before the first that changes.
  int64_t images_ = 1;
  int64_t input_size_ = 1;
  int64_t image_size_ = 1;
  // Floats of an image's largest intermediate result.
  int64_t largest_ = 0;
};

class WeightedKernel final : public Kernel {
 public:
  explicit WeightedKernel(Resize op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "highway"; }
  bool Accepts(const OpContext& context) const override {
    if (!IsFloatOrHalf(context.input(0).type())) return false;
    const auto axes = op_.Resolve(context);
    if (!axes.ok()) return false;
    // Larger tables might take more memory than x and y.
    constexpr int64_t kMost = int64_t{1} << 22;
    return std::all_of(axes->begin(), axes->end(), [](const ResizeAxis& axis) {
      return axis.input <= kMost && axis.output <= kMost;
    });
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, op_.Resolve(context));
    Shape shape;
    for (const ResizeAxis& axis : axes) shape.push_back(axis.output);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y, FloatOutput::Allocate(context, 0, x.type(), shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor floats, ToFloat(x, context.allocator()));
    const Passes passes(op_.attributes(), axes);
    if (passes.empty()) {
      std::copy_n(floats.data<float>(), y.num_elements(), y.data());
    } else {
      ATTNRUN_RETURN_IF_ERROR(passes.Run(floats.data<float>(), y.data(), context.allocator()));
    }
    y.Store();
    return absl::OkStatus();
  }

 private:
  const Resize op_;
};

}  // namespace

std::unique_ptr<Kernel> MakeWeightedKernel(const Resize& op) {
  return std::make_unique<WeightedKernel>(op);
}

absl::StatusOr<std::unique_ptr<Kernel>> Resize::MakeKernel(const KernelContext& /*context*/) const {
  return attributes_.interpolation == Interpolation::kNearest ? MakeNearestKernel(*this)
                                                              : MakeWeightedKernel(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
