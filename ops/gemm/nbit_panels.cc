// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/weight_memory.h"

namespace attnrun::ops {
namespace {

// True if scale / 2^28 and 128 * scale are exact.
bool HasRoom(float scale) {
  constexpr float kTiny = 0x1p-98F;
  constexpr float kHuge = 0x1p100F;
  const float size = std::fabs(scale);
  return size == 0 || (size > kTiny && size < kHuge);
}

// True if the zero points of a part must be stored.
bool NeedsZeroPoints(const NBitColumns& part) {
  if (part.zero_points != nullptr || part.bits == 2) return true;
  return !std::all_of(part.scales, part.scales + part.columns * part.blocks(), HasRoom);
}

// True if a part has only scales and zero points as NBitFormat::has_plain_scales says.
bool HasPlainScales(const NBitColumns& part) {
  constexpr float kTiny = 0x1p-40F;
  constexpr float kHuge = 0x1p60F;
  constexpr float kFar = 0x1p8F;
  const int64_t count = part.columns * part.blocks();
  const auto is_plain = [](float scale) {
    const float size = std::fabs(scale);
    return size == 0 || (size >= kTiny && size <= kHuge);
  };
  const auto is_near = [](float point) { return std::fabs(point) <= kFar; };
  return std::all_of(part.scales, part.scales + count, is_plain) &&
         (part.zero_points == nullptr ||
          std::all_of(part.zero_points, part.zero_points + count, is_near));
}

// Facts of a store's bytes.
constexpr uint64_t kHasZeroPoints = 1;
constexpr uint64_t kHasPlainScales = 2;

// Kernels read vectors of codes from any byte of a word on, and so beyond the last word.
constexpr int64_t kSlack = 3;

// A column of a part; null codes: a column that pads the last panel.
struct Column {
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* zero_points = nullptr;
};

Column ColumnOf(const std::vector<NBitColumns>& parts, int64_t index) {
  for (const NBitColumns& part : parts) {
    if (index >= part.columns) {
      index -= part.columns;
      continue;
    }
    const int64_t first = index * part.blocks();
    return {part.codes + first * part.bytes_per_block(), part.scales + first,
            part.zero_points == nullptr ? nullptr : part.zero_points + first};
  }
  return {};
}

}  // namespace

int64_t NBitPanels::num_panels() const { return DivCeil(columns_, PanelWidth()); }

NBitPanel NBitPanels::panel(int64_t index) const {
  return {format_, data_.data<uint8_t>() + index * format_.panel_bytes};
}

NBitPanels::NBitPanels(const NBitColumns& weight, bool has_zero_points) : columns_(weight.columns) {
  format_.bits = weight.bits;
  format_.block = weight.block;
  format_.rows = weight.rows;
  format_.has_zero_points = has_zero_points;
  const int64_t lines = (has_zero_points ? 2 : 1) + weight.block / format_.codes_per_word();
  format_.block_bytes = lines * PanelWidth() * static_cast<int64_t>(sizeof(float));
  format_.panel_bytes = weight.blocks() * format_.block_bytes;
}

int64_t NBitPanels::byte_size() const { return num_panels() * format_.panel_bytes + kSlack; }

absl::StatusOr<std::shared_ptr<const NBitPanels>> NBitPanels::Pack(
    const std::vector<NBitColumns>& parts) {
  NBitColumns whole = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) whole.columns += parts[i].columns;
  // No make_shared: it cannot call the private constructor.
  const std::shared_ptr<NBitPanels> packed(
      new NBitPanels(whole, std::any_of(parts.begin(), parts.end(), NeedsZeroPoints)));
  packed->format_.has_plain_scales = std::all_of(parts.begin(), parts.end(), HasPlainScales);
  ATTNRUN_ASSIGN_OR_RETURN(
      packed->data_, Tensor::Allocate(DataType::kUint8, {packed->byte_size()}, WeightMemory()));
  auto* const data = packed->data_.mutable_data<uint8_t>();
  std::memset(data + packed->byte_size() - kSlack, 0, kSlack);
  ParallelFor(packed->num_panels(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      packed->PackPanel(parts, index, data + index * packed->panel_bytes());
    }
  });
  return ShareLive<NBitPanels>(packed);
}

PackedBytes NBitPanels::bytes() const {
  const uint64_t facts = (format_.has_zero_points ? kHasZeroPoints : 0) |
                         (format_.has_plain_scales ? kHasPlainScales : 0);
  return {facts, {data_}};
}

std::shared_ptr<const NBitPanels> NBitPanels::Read(const NBitColumns& weight,
                                                   const PackedBytes& bytes) {
  if ((bytes.facts & ~(kHasZeroPoints | kHasPlainScales)) != 0) return nullptr;
  if (bytes.parts.size() != 1) return nullptr;
  const bool has_zero_points = (bytes.facts & kHasZeroPoints) != 0;
  // Kernels for 2 bits always read zero points.
  if (weight.bits == 2 && !has_zero_points) return nullptr;
  std::shared_ptr<NBitPanels> packed(new NBitPanels(weight, has_zero_points));
  packed->format_.has_plain_scales = (bytes.facts & kHasPlainScales) != 0;
  packed->data_ = bytes.parts[0];
  return packed->data_.num_elements() == packed->byte_size() ? packed : nullptr;
}

bool NBitPanels::HasExtentsOf(const NBitPanels& other) const {
  return format_.bits == other.format_.bits && format_.block == other.format_.block &&
         format_.rows == other.format_.rows && columns_ == other.columns_;
}

void NBitPanels::PackPanel(const std::vector<NBitColumns>& parts, int64_t index,
                           uint8_t* to) const {
  const int64_t width = PanelWidth();
  const int64_t blocks = DivCeil(format_.rows, format_.block);
  const int64_t words = format_.block / format_.codes_per_word();
  const float middle = static_cast<float>(1 << (format_.bits - 1));
  for (int64_t j = 0; j < width; ++j) {
    const Column column = ColumnOf(parts, index * width + j);
    for (int64_t block = 0; block < blocks; ++block) {
      auto* const floats = reinterpret_cast<float*>(to + block * format_.block_bytes) + j;
      const bool padding = column.codes == nullptr;
      floats[0] = padding ? 0 : column.scales[block];
      if (format_.has_zero_points) {
        floats[width] = column.zero_points == nullptr ? middle : column.zero_points[block];
      }
      float* const first = floats + (format_.has_zero_points ? 2 : 1) * width;
      for (int64_t word = 0; word < words; ++word) {
        uint32_t codes = 0;
        // A little-endian machine reads the bytes in the order of the codes.
        if (!padding) std::memcpy(&codes, column.codes + (block * words + word) * 4, sizeof(codes));
        std::memcpy(first + word * width, &codes, sizeof(codes));
      }
    }
  }
}

}  // namespace attnrun::ops
