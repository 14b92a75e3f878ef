// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/weak_pool.h"
#include "ops/gemm/int8_weight.h"
#include "ops/gemm/weight_choice.h"
#include "ops/gemm/weight_memory.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {
namespace {

// A hash of the extents and of a sample of elements; equal for equal matrices.
size_t Fingerprint(const SideBySide& weight) {
  constexpr int64_t kSamples = 64;
  const int64_t columns = weight.columns();
  const int64_t count = weight.rows() * columns;
  const int64_t step = std::max<int64_t>(count / kSamples, 1);
  size_t hash = absl::HashOf(weight.rows(), columns);
  for (int64_t i = 0; i < count; i += step) {
    float element;
    weight.Copy(i / columns, 1, i % columns, 1, &element, 1);
    // Hashes the bits: as floats, 0 equals -0.
    hash = absl::HashOf(hash, std::bit_cast<uint32_t>(element));
  }
  return hash;
}

// True if float products by this weight are computed in tiles: those of few rows would wait for the
// weight, and short sums gain little. The number of columns plays no part, so that weights have the
// same bits alone and side by side.
bool GainsByTiles(const SideBySide& weight, const KernelContext& context) {
  constexpr int64_t kLeastRows = 128;
  return ThisCpu().amx_bf16 && !context.few_rows && weight.rows() >= kLeastRows;
}

// In place of a weight in int8, a store keeps the error of one that stays finer.
PackedBytes BytesOfError(double error) { return {std::bit_cast<uint64_t>(error), {}}; }

// Nullopt if the bytes are no such error.
std::optional<double> KeptError(const PackedBytes& bytes) {
  const auto error = std::bit_cast<double>(bytes.facts);
  return bytes.parts.empty() && !SuitsInt8(error) ? std::optional(error) : std::nullopt;
}

}  // namespace

int64_t PackedMatrix::num_panels() const { return DivCeil(columns_, PanelColumns(format_)); }

const void* PackedMatrix::panel_bytes(int64_t index) const {
  return data_.data<uint8_t>() + index * PanelBytes(format_, rows_);
}

std::shared_ptr<const PackedMatrix> PackedMatrix::Of(WeightFormat format, int64_t rows,
                                                     int64_t columns, Tensor panels) {
  // No make_shared: it cannot call the private constructor.
  std::shared_ptr<PackedMatrix> matrix(new PackedMatrix);
  matrix->format_ = format;
  matrix->rows_ = rows;
  matrix->columns_ = columns;
  matrix->data_ = std::move(panels);
  return matrix;
}

PackedRecipe PackedMatrix::RecipeOf(WeightFormat format, const SideBySide& weight) {
  PackedRecipe recipe;
  recipe.numbers = {static_cast<int64_t>(PackedKind::kMatrix), static_cast<int64_t>(format),
                    PanelColumns(format)};
  for (const StoredMatrix& part : weight.parts()) {
    if (part.rows == 0 || part.columns == 0) continue;
    recipe.numbers.insert(recipe.numbers.end(),
                          {static_cast<int64_t>(part.type), part.rows, part.columns,
                           part.row_stride, part.column_stride, part.run_rows, part.run_stride});
    recipe.sources.push_back(part.bytes());
  }
  return recipe;
}

std::shared_ptr<const PackedMatrix> PackedMatrix::Read(WeightFormat format,
                                                       const SideBySide& weight,
                                                       const PackedBytes& bytes) {
  if (bytes.parts.size() != 1) return nullptr;
  const int64_t panels = DivCeil(weight.columns(), PanelColumns(format));
  absl::StatusOr<Tensor> data =
      bytes.parts[0].Reshaped({panels, PanelBytes(format, weight.rows())});
  if (!data.ok()) return nullptr;
  return Of(format, weight.rows(), weight.columns(), *std::move(data));
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::Pack(const SideBySide& weight,
                                                                       const KernelContext& context,
                                                                       DataType stored) {
  if (context.precision != Precision::kInt8) {
    return PackIn(context.precision, stored, weight, context);
  }
  return PackForInt8(weight, context, stored);
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackForInt8(
    const SideBySide& weight, const KernelContext& context, DataType stored) {
  PackedStore* const store = context.is_final ? nullptr : context.packed_store;
  PackedKey key;
  std::optional<double> error;
  if (store != nullptr) {
    const WeightFormat format = BestInt8Format();
    key = store->KeyOf(RecipeOf(format, weight));
    const std::optional<PackedBytes> found = store->Find(key);
    if (found.has_value()) {
      std::shared_ptr<const PackedMatrix> matrix = Read(format, weight, *found);
      if (matrix != nullptr) return matrix;
      error = KeptError(*found);
    }
  }
  WeightChoice choice = ChooseInt8(weight, context.is_final, error);
  const bool is_news = choice.error.has_value() && !error.has_value() && !SuitsInt8(*choice.error);
  if (store != nullptr && is_news) store->Add(key, BytesOfError(*choice.error));
  // The first of a node's weights that is kept finer gives the reason.
  std::string* const reason = context.finer_reason;
  if (reason != nullptr && reason->empty()) *reason = std::move(choice.reason);
  return PackIn(choice.precision, stored, weight, context);
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackIn(
    Precision precision, DataType stored, const SideBySide& weight, const KernelContext& context) {
  const WeightFormat format = FormatFor(precision, stored);
  PackedStore* const store = context.packed_store;
  if (format != WeightFormat::kFloat32 || !GainsByTiles(weight, context)) {
    return PackAs(format, weight, store);
  }
  absl::StatusOr<std::shared_ptr<const PackedMatrix>> tiles =
      PackAs(WeightFormat::kFloat32Tiles, weight, store);
  return absl::IsOutOfRange(tiles.status()) ? PackAs(format, weight, store) : tiles;
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackAs(WeightFormat format,
                                                                         const SideBySide& weight,
                                                                         PackedStore* store) {
  if (weight.rows() == 0 || weight.columns() == 0) store = nullptr;
  return FindOrPack<PackedMatrix>(
      store, RecipeOf(format, weight),
      [&](const PackedBytes& bytes) { return Read(format, weight, bytes); },
      [&] { return PackShared(format, weight); });
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackShared(
    WeightFormat format, const SideBySide& weight) {
  return WeakPool<PackedMatrix>::Get().FindOrMake(
      absl::HashOf(format, Fingerprint(weight)),
      [&](const PackedMatrix& matrix) { return matrix.Holds(format, weight); },
      [&] { return PackCopy(format, weight); });
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackCopy(
    WeightFormat format, const SideBySide& weight) {
  const int64_t panels = DivCeil(weight.columns(), PanelColumns(format));
  const int64_t bytes = PanelBytes(format, weight.rows());
  ATTNRUN_ASSIGN_OR_RETURN(Tensor data,
                           Tensor::Allocate(DataType::kUint8, {panels, bytes}, WeightMemory()));
  auto* const to = data.mutable_data<uint8_t>();
  std::atomic<bool> fits = true;
  ParallelFor(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      PackPanel(format, weight, weight.rows(), weight.columns(), index, to + index * bytes);
      if (!FitsFormat(format, weight.rows(), to + index * bytes)) fits = false;
    }
  });
  if (!fits) return absl::OutOfRangeError("a column cannot be split");
  return Of(format, weight.rows(), weight.columns(), std::move(data));
}

bool PackedMatrix::Holds(WeightFormat format, const SideBySide& weight) const {
  if (format_ != format || rows_ != weight.rows() || columns_ != weight.columns()) return false;
  std::atomic<bool> equal = true;
  ParallelFor(num_panels(), 1, [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> packed(PanelBytes(format, rows_));
    for (int64_t index = begin; index < end && equal; ++index) {
      PackPanel(format, weight, rows_, columns_, index, packed.data());
      // Compares bits: NaN equals itself, and -0 is not 0.
      if (std::memcmp(panel_bytes(index), packed.data(), packed.size()) != 0) equal = false;
    }
  });
  return equal;
}

}  // namespace attnrun::ops
