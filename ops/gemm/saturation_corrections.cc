// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/saturation_corrections.h"

#include <cstdlib>
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/gemm/packed_store.h"

namespace attnrun::ops {
namespace {

constexpr int64_t kGroup = RowsPerStep(Int8Layout::kInt8x4);
constexpr int64_t kNumbers = 3;
static_assert(sizeof(SaturationCorrection) == kNumbers * sizeof(int32_t));

std::vector<SaturationCorrection> ClampPanel(int8_t* values, int64_t steps, int64_t per_step) {
  std::vector<SaturationCorrection> corrections;
  for (int64_t step = 0; step < steps; ++step, values += per_step) {
    // First checks whether the step has any, a loop that the compiler vectorizes.
    int32_t any = 0;
    for (int64_t i = 0; i < per_step; i += 2) any |= CorrectionOf(values[i], values[i + 1]);
    for (int64_t i = 0; any != 0 && i < per_step; i += 2) {
      const int correction = CorrectionOf(values[i], values[i + 1]);
      if (correction == 0) continue;
      values[i] = static_cast<int8_t>(values[i] - correction);
      corrections.push_back({static_cast<int32_t>(step * kGroup + i % kGroup),
                             static_cast<int32_t>(i / kGroup), correction});
    }
  }
  return corrections;
}

// True if the corrections lie within the panel, in its order, so that no sum of them is too large.
bool BelongTo(int64_t steps, int64_t per_step, absl::Span<const SaturationCorrection> corrections) {
  int64_t last = -1;
  for (const SaturationCorrection& c : corrections) {
    const bool inside = c.row >= 0 && c.row < steps * kGroup && c.column >= 0 &&
                        c.column < per_step / kGroup && std::abs(int64_t{c.value}) <= 128;
    const int64_t place = c.row / kGroup * per_step + c.column * kGroup + c.row % kGroup;
    if (!inside || place <= last) return false;
    last = place;
  }
  return true;
}

}  // namespace

absl::StatusOr<SaturationCorrections> SaturationCorrections::Clamp(Tensor& panels,
                                                                   Allocator& allocator) {
  const int64_t count = panels.dim(0);
  const int64_t steps = panels.dim(1);
  const int64_t per_step = panels.dim(2);
  auto* const values = panels.mutable_data<int8_t>();
  std::vector<std::vector<SaturationCorrection>> of_panels(count);
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      of_panels[panel] = ClampPanel(values + panel * steps * per_step, steps, per_step);
    }
  });
  SaturationCorrections result;
  ATTNRUN_ASSIGN_OR_RETURN(result.ends_, Tensor::Allocate(DataType::kInt64, {count}, allocator));
  int64_t total = 0;
  for (int64_t panel = 0; panel < count; ++panel) {
    total += std::ssize(of_panels[panel]);
    result.ends_.mutable_data<int64_t>()[panel] = total;
  }
  ATTNRUN_ASSIGN_OR_RETURN(result.list_,
                           Tensor::Allocate(DataType::kInt32, {total, kNumbers}, allocator));
  auto* to = static_cast<SaturationCorrection*>(result.list_.mutable_raw());
  for (const auto& of_panel : of_panels) to = std::copy(of_panel.begin(), of_panel.end(), to);
  return result;
}

std::optional<SaturationCorrections> SaturationCorrections::Of(const Shape& panels,
                                                               const Tensor& ends,
                                                               const Tensor& list) {
  const auto count = static_cast<int64_t>(list.byte_size() / sizeof(SaturationCorrection));
  SaturationCorrections result;
  result.ends_ = BytesAs(ends, DataType::kInt64, {panels[0]});
  result.list_ = BytesAs(list, DataType::kInt32, {count, kNumbers});
  if (!result.ends_.defined() || !result.list_.defined()) return std::nullopt;
  int64_t begin = 0;
  for (int64_t panel = 0; panel < panels[0]; ++panel) {
    const int64_t end = result.ends_.data<int64_t>()[panel];
    if (end < begin || end > count) return std::nullopt;
    if (!BelongTo(panels[1], panels[2], result.OfPanel(panel))) return std::nullopt;
    begin = end;
  }
  return begin == count ? std::optional(result) : std::nullopt;
}

absl::Span<const SaturationCorrection> SaturationCorrections::OfPanel(int64_t panel) const {
  const auto* const ends = ends_.data<int64_t>();
  const int64_t begin = panel == 0 ? 0 : ends[panel - 1];
  const auto* const all = static_cast<const SaturationCorrection*>(list_.raw());
  return {all + begin, static_cast<size_t>(ends[panel] - begin)};
}

}  // namespace attnrun::ops
