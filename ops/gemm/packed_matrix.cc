// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/hash/hash.h"
#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/weak_pool.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/packed_store.h"

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

}  // namespace

int64_t PackedMatrix::num_panels() const { return DivCeil(columns_, PanelWidth()); }

const float* PackedMatrix::panel(int64_t index) const {
  return data_.data<float>() + index * rows_ * PanelWidth();
}

std::shared_ptr<const PackedMatrix> PackedMatrix::Of(int64_t columns, Tensor panels) {
  std::shared_ptr<PackedMatrix> matrix(new PackedMatrix);
  matrix->rows_ = panels.dim(1);
  matrix->columns_ = columns;
  matrix->data_ = std::move(panels);
  return matrix;
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::Pack(
    const SideBySide& weight, const KernelContext& context) {
  PackedStore* const store = context.packed_store;
  if (store == nullptr) return PackShared(weight);
  std::shared_ptr<const PackedMatrix> matrix = store->Find(weight);
  if (matrix != nullptr) return matrix;
  ATTNRUN_ASSIGN_OR_RETURN(matrix, PackShared(weight));
  store->Add(weight, matrix);
  return matrix;
}

absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackShared(
    const SideBySide& weight) {
  return WeakPool<PackedMatrix>::Get().FindOrMake(
      Fingerprint(weight), [&](const PackedMatrix& matrix) { return matrix.Holds(weight); },
      [&] { return PackCopy(weight); });
}

// Files of the weight cache hold panels in this layout: whoever changes it must raise their
// kFormat.
absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackedMatrix::PackCopy(
    const SideBySide& weight) {
  // No make_shared: it cannot call the private constructor.
  std::shared_ptr<PackedMatrix> packed(new PackedMatrix);
  packed->rows_ = weight.rows();
  packed->columns_ = weight.columns();
  const int64_t width = PanelWidth();
  const int64_t panels = packed->num_panels();
  ATTNRUN_ASSIGN_OR_RETURN(packed->data_,
                           Tensor::Allocate(DataType::kFloat, {panels, weight.rows(), width}));
  auto* const data = packed->data_.mutable_data<float>();
  ParallelFor(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t columns = std::min(width, weight.columns() - index * width);
      float* panel = data + index * weight.rows() * width;
      weight.Copy(0, weight.rows(), index * width, columns, panel, width);
      for (int64_t row = 0; columns < width && row < weight.rows(); ++row) {
        std::fill(panel + row * width + columns, panel + (row + 1) * width, 0.0F);
      }
    }
  });
  return packed;
}

bool PackedMatrix::Holds(const SideBySide& weight) const {
  if (rows_ != weight.rows() || columns_ != weight.columns()) return false;
  std::atomic<bool> equal = true;
  ParallelFor(num_panels(), 1, [&](int64_t begin, int64_t end) {
    const int64_t width = PanelWidth();
    std::vector<float> row(width);
    for (int64_t index = begin; index < end && equal; ++index) {
      const int64_t columns = std::min(width, columns_ - index * width);
      for (int64_t i = 0; i < rows_; ++i) {
        weight.Copy(i, 1, index * width, columns, row.data(), width);
        // Compares bits: NaN equals itself, and -0 is not 0.
        if (std::memcmp(panel(index) + i * width, row.data(), columns * sizeof(float)) != 0) {
          equal = false;
        }
      }
    }
  });
  return equal;
}

}  // namespace attnrun::ops
