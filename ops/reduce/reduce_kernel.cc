// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/reduce_kernel.cc"
#include "hwy/foreach_target.h"
// Highway requires these includes after foreach_target.h.
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_walk.h"
#include "ops/tensors/exp-inl.h"
#include "ops/tensors/store_up_to-inl.h"
#include "ops/tensors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// A step adds elements to a vector of totals (Take), which begin at kStart, and joins totals
// (Join).
struct SumStep {
  static constexpr float kStart = 0;
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const { return hn::Add(total, x); }
  HWY_INLINE FloatVec Join(FloatVec a, FloatVec b) const { return hn::Add(a, b); }
};
struct AbsoluteStep : SumStep {
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const { return hn::Add(total, hn::Abs(x)); }
};
struct SquareStep : SumStep {
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const { return hn::MulAdd(x, x, total); }
};
struct ExpStep : SumStep {
  FloatVec peak;
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const {
    return hn::Add(total, ExpBelow88(FloatTag(), hn::Sub(x, peak)));
  }
};
struct ProductStep {
  static constexpr float kStart = 1;
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const { return hn::Mul(total, x); }
  HWY_INLINE FloatVec Join(FloatVec a, FloatVec b) const { return hn::Mul(a, b); }
};
// Highway's Max and Min return the second argument if either is NaN, so a NaN total is kept by
// hand.
struct MaxStep {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const {
    return hn::IfThenElse(hn::IsNaN(total), total, hn::Max(total, x));
  }
  HWY_INLINE FloatVec Join(FloatVec a, FloatVec b) const { return Take(a, b); }
};
struct MinStep {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec Take(FloatVec total, FloatVec x) const {
    return hn::IfThenElse(hn::IsNaN(total), total, hn::Min(total, x));
  }
  HWY_INLINE FloatVec Join(FloatVec a, FloatVec b) const { return Take(a, b); }
};

// Joins all lanes, half by half; every lane of the result holds the total.
template <typename Step>
HWY_INLINE FloatVec JoinLanes(Step step, FloatVec totals) {
  const FloatTag d;
  if constexpr (hn::MaxLanes(FloatTag()) > 8) {
    totals = step.Join(totals, hn::ConcatLowerUpper(d, totals, totals));
  }
  if constexpr (hn::MaxLanes(FloatTag()) > 4) {
    totals = step.Join(totals, hn::SwapAdjacentBlocks(totals));
  }
  totals = step.Join(totals, hn::Shuffle1032(totals));
  totals = step.Join(totals, hn::Shuffle2301(totals));
  return hn::Set(d, hn::GetLane(totals));
}

// The total over whole runs, in every lane. Four totals in parallel hide the latency of a step.
template <typename Step>
HWY_INLINE FloatVec TotalOfRuns(const FloatRuns& runs, Step step) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  FloatVec total0 = hn::Set(d, Step::kStart);
  FloatVec total1 = total0;
  FloatVec total2 = total0;
  FloatVec total3 = total0;
  for (size_t k = 0; k < runs.num_offsets; ++k) {
    const float* HWY_RESTRICT x = runs.begin + runs.offsets[k];
    size_t i = 0;
    for (; i + 4 * lanes <= runs.run; i += 4 * lanes) {
      total0 = step.Take(total0, hn::LoadU(d, x + i));
      total1 = step.Take(total1, hn::LoadU(d, x + i + lanes));
      total2 = step.Take(total2, hn::LoadU(d, x + i + 2 * lanes));
      total3 = step.Take(total3, hn::LoadU(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= runs.run; i += lanes) total0 = step.Take(total0, hn::LoadU(d, x + i));
    if (i < runs.run) {
      const FloatVec taken = step.Take(total1, hn::LoadN(d, x + i, runs.run - i));
      total1 = hn::IfThenElse(hn::FirstN(d, runs.run - i), taken, total1);
    }
  }
  return JoinLanes(step, step.Join(step.Join(total0, total1), step.Join(total2, total3)));
}

// The totals of `count` columns, from `column` on.
template <typename Step>
HWY_INLINE FloatVec TotalOfColumns(const FloatRuns& runs, size_t column, size_t count, Step step) {
  const FloatTag d;
  FloatVec total = hn::Set(d, Step::kStart);
  const float* HWY_RESTRICT x = runs.begin + column;
  if (count == hn::Lanes(d)) {
    for (size_t k = 0; k < runs.num_offsets; ++k) {
      total = step.Take(total, hn::LoadU(d, x + runs.offsets[k]));
    }
  } else {
    for (size_t k = 0; k < runs.num_offsets; ++k) {
      total = step.Take(total, hn::LoadN(d, x + runs.offsets[k], count));
    }
  }
  return total;
}

// The totals of `count` rows of `run` adjacent elements, from `x` on, a lane for each row. `places`
// are the offsets of the rows. All add their elements in order.
template <typename Step, typename Places>
HWY_INLINE FloatVec TotalOfShortRows(const float* HWY_RESTRICT x, Places places, size_t count,
                                     size_t run, Step step) {
  const FloatTag d;
  FloatVec total = hn::Set(d, Step::kStart);
  if (count == hn::Lanes(d)) {
    for (size_t i = 0; i < run; ++i) total = step.Take(total, hn::GatherIndex(d, x + i, places));
  } else {
    for (size_t i = 0; i < run; ++i) {
      total = step.Take(total, hn::GatherIndexN(d, x + i, places, count));
    }
  }
  return total;
}

// `total_of(step)` computes the totals of the elements with a step; `count` is their number.
template <typename TotalOf>
HWY_INLINE FloatVec Reduced(Reduction reduction, float count, TotalOf total_of) {
  const FloatTag d;
  switch (reduction) {
    case Reduction::kSum:
      return total_of(SumStep());
    case Reduction::kMean:
      return hn::Div(total_of(SumStep()), hn::Set(d, count));
    case Reduction::kMax:
      return total_of(MaxStep());
    case Reduction::kMin:
      return total_of(MinStep());
    case Reduction::kProd:
      return total_of(ProductStep());
    case Reduction::kL1:
      return total_of(AbsoluteStep());
    case Reduction::kL2:
      return hn::Sqrt(total_of(SquareStep()));
    case Reduction::kLogSum:
      return AnyLog(d, total_of(SumStep()));
    case Reduction::kSumSquare:
      return total_of(SquareStep());
    case Reduction::kLogSumExp:
      break;
  }
  const FloatVec peak = total_of(MaxStep());
  const auto finite = hn::IsFinite(peak);
  ExpStep step;
  step.peak = hn::IfThenElseZero(finite, peak);
  const FloatVec result = hn::Add(hn::Log(d, total_of(step)), peak);
  return hn::IfThenElse(finite, result, peak);
}

// One output, for runs that are reduced.
void ReduceFloatRuns(Reduction reduction, const FloatRuns& runs, float* out) {
  const auto count = static_cast<float>(runs.num_offsets * runs.run);
  *out = hn::GetLane(
      Reduced(reduction, count, [&](auto step) HWY_ATTR { return TotalOfRuns(runs, step); }));
}

// `run` outputs, for runs of adjacent outputs.
void ReduceFloatColumns(Reduction reduction, const FloatRuns& runs, float* HWY_RESTRICT out) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t column = 0; column < runs.run; column += lanes) {
    const size_t count = HWY_MIN(lanes, runs.run - column);
    const FloatVec result =
        Reduced(reduction, static_cast<float>(runs.num_offsets),
                [&](auto step) HWY_ATTR { return TotalOfColumns(runs, column, count, step); });
    StoreUpTo(result, d, out + column, count);
  }
}

// `rows` outputs of rows [rows, run], a lane for each row.
HWY_INLINE void ReduceShortRows(Reduction reduction, const float* HWY_RESTRICT x, size_t rows,
                                size_t run, float* HWY_RESTRICT out) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d_int;
  const size_t lanes = hn::Lanes(d);
  const auto places = hn::Mul(hn::Iota(d_int, 0), hn::Set(d_int, static_cast<int32_t>(run)));
  for (size_t row = 0; row < rows; row += lanes) {
    const size_t count = HWY_MIN(lanes, rows - row);
    const FloatVec result = Reduced(reduction, static_cast<float>(run), [&](auto step) HWY_ATTR {
      return TotalOfShortRows(x + row * run, places, count, run, step);
    });
    StoreUpTo(result, d, out + row, count);
  }
}

// `rows` outputs of rows [rows, run].
void ReduceFloatRows(Reduction reduction, const float* x, size_t rows, size_t run, float* out) {
  // Longer rows are faster as vectors than an element of several rows at a time.
  constexpr size_t kShort = 8;
  if (run <= kShort) return ReduceShortRows(reduction, x, rows, run, out);
  const int64_t offset = 0;
  for (size_t row = 0; row < rows; ++row) {
    ReduceFloatRuns(reduction, {x + row * run, &offset, 1, run}, out + row);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/status.h"
#include "ops/reduce/reduce_integers.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(ReduceFloatRuns);
HWY_EXPORT(ReduceFloatColumns);
HWY_EXPORT(ReduceFloatRows);

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const Reduce& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    if (x.num_elements() == 0) return false;
    return IsFloatOrHalf(x.type()) || ReducesIntegers(op_.reduction(), x.type());
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const ReduceShape shape, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const ReduceWalk walk,
                             MakeReduceWalk(x.shape(), shape.kept, context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape.output));
    if (!IsFloatOrHalf(x.type())) {
      ReduceIntegers(op_.reduction(), walk, x, *y);
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor in, AsFloat(x, context.allocator()));
    Tensor out = *y;
    if (x.type() != DataType::kFloat) {
      ATTNRUN_ASSIGN_OR_RETURN(
          out, Tensor::Allocate(DataType::kFloat, shape.output, context.allocator()));
    }
    RunFloats(walk, in.data<float>(), out.mutable_data<float>());
    if (x.type() != DataType::kFloat) WriteFloats(out.data<float>(), out.num_elements(), *y, 0);
    return absl::OkStatus();
  }

 private:
  void RunFloats(const ReduceWalk& walk, const float* x, float* y) const {
    if (walk.IsRows()) {
      return ForEachRows(walk, [&](int64_t begin, int64_t end) {
        HWY_DYNAMIC_DISPATCH(ReduceFloatRows)
        (op_.reduction(), x + begin * walk.run, static_cast<size_t>(end - begin),
         static_cast<size_t>(walk.run), y + begin);
      });
    }
    constexpr int64_t kWidth = 64;
    ForEachReduction(
        walk, kWidth,
        [&](int64_t begin, absl::Span<const int64_t> offsets, int64_t run, int64_t output) {
          const FloatRuns runs{x + begin, offsets.data(), offsets.size(), static_cast<size_t>(run)};
          if (walk.run_is_reduced) {
            HWY_DYNAMIC_DISPATCH(ReduceFloatRuns)(op_.reduction(), runs, y + output);
          } else {
            HWY_DYNAMIC_DISPATCH(ReduceFloatColumns)
            (op_.reduction(), runs, y + output);
          }
        });
  }

  const Reduce op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Reduce::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ReduceKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
