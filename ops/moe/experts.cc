// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/experts.h"

#include <algorithm>

#include "core/elements.h"
#include "core/status.h"
#include "ops/gemm/nbit_product.h"
#include "ops/quantization/nbit/codes.h"
#include "ops/quantization/nbit/nbit_weight.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Each second row of a layer that has gate and factor in turns, from `first` on.
ExpertLayer EachSecond(const ExpertLayer& layer, int64_t first) {
  ExpertLayer half = layer;
  half.n = layer.n / 2;
  const auto view = [&](Tensor& tensor) {
    // Zero points of whole rows are unpacked later.
    if (!tensor.defined()) return;
    Shape shape = tensor.shape();
    Shape strides = StridesOf(tensor);
    const int64_t offset = first * strides[0];
    shape[0] = half.n;
    strides[0] *= 2;
    tensor = tensor.View(shape, strides, offset);
  };
  view(half.weight);
  view(half.scales);
  view(half.bias);
  view(half.zero_points);
  return half;
}

// The largest blocks in which the kernel can take rows of k codes; 0 if there are none.
int64_t BlockOf(int64_t k) {
  int64_t block = 0;
  for (int64_t size = 16; k % size == 0 && IsBlockSize(size); size *= 2) block = size;
  return block;
}

// The layer with its scales repeated for blocks, and its zero points as floats, if it has one scale
// for each row. Precondition: BlockOf(layer.k) > 0.
absl::StatusOr<ExpertLayer> InBlocks(const ExpertLayer& layer) {
  if (layer.block_size != 0) return layer;
  ExpertLayer result = layer;
  result.block_size = BlockOf(layer.k);
  const int64_t blocks = layer.k / result.block_size;
  const auto repeated = [&](const std::vector<double>& rows) -> absl::StatusOr<Tensor> {
    std::vector<double> all;
    for (const double row : rows) all.insert(all.end(), blocks, row);
    return FromDoubles(DataType::kFloat, {layer.n, blocks}, all);
  };
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor scales, layer.scales.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows, ToDoubles(scales));
  ATTNRUN_ASSIGN_OR_RETURN(result.scales, repeated(rows));
  if (!layer.zero_points.defined()) return result;
  std::vector<double> points;
  points.reserve(layer.n);
  for (int64_t i = 0; i < layer.n; ++i) {
    points.push_back(CodeAt(layer.zero_points.data<uint8_t>(), i, layer.bits));
  }
  ATTNRUN_ASSIGN_OR_RETURN(result.zero_points, repeated(points));
  return result;
}

NBitWeight Codes(const ExpertLayer& layer) {
  NBitWeight weight;
  weight.k = layer.k;
  weight.n = layer.n;
  weight.bits = layer.bits;
  weight.block_size = layer.block_size;
  const int64_t bytes = layer.block_size * layer.bits / 8;
  const int64_t row =
      layer.weight.strides().empty() ? layer.k * layer.bits / 8 : layer.weight.strides()[0];
  weight.codes =
      layer.weight.View({layer.n, layer.k / layer.block_size, bytes}, {row, bytes, 1}, 0);
  weight.scales = layer.scales;
  weight.zero_points = layer.zero_points;
  return weight;
}

// The weight as it is stored, or as floats if products do not take its type.
absl::StatusOr<Tensor> Numbers(const Tensor& weight) {
  if (IsFloatOrHalf(weight.type())) return weight;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, weight.Dense());
  return ToFloat(dense, Allocator::Heap());
}

// Packs layers with the same inputs side by side.
absl::StatusOr<PackedLayer> Pack(const std::vector<ExpertLayer>& layers,
                                 const KernelContext& context) {
  PackedLayer packed;
  // The memory that the matrices view.
  std::vector<Tensor> tensors;
  std::vector<StoredMatrix> matrices;
  std::vector<NBitWeight> weights;
  const bool biased = std::any_of(layers.begin(), layers.end(),
                                  [](const ExpertLayer& layer) { return layer.bias.defined(); });
  for (const ExpertLayer& layer : layers) {
    packed.n += layer.n;
    if (biased) packed.bias.resize(packed.n);
    if (layer.bias.defined()) {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, layer.bias.Dense());
      ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ToDoubles(dense));
      std::copy(bias.begin(), bias.end(), packed.bias.end() - layer.n);
    }
    if (layer.bits > 0) {
      weights.push_back(Codes(layer));
      ATTNRUN_RETURN_IF_ERROR(weights.back().Check());
      continue;
    }
    ATTNRUN_ASSIGN_OR_RETURN(tensors.emplace_back(), Numbers(layer.weight));
    matrices.push_back(StoredMatrix(tensors.back()).Transposed());
  }
  if (!weights.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(packed.codes, PackSideBySide(weights, context.packed_store));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(
        packed.floats, PackedMatrix::Pack(SideBySide(matrices), context, layers[0].weight.type()));
  }
  return packed;
}

absl::StatusOr<PackedExpert> PackExpert(const MoeAttributes& attributes, const ExpertLayers& layers,
                                        const KernelContext& context) {
  std::vector<ExpertLayer> experts;
  for (const ExpertLayer& layer : layers) {
    if (!layer.weight.defined()) continue;
    ExpertLayer one = layer;
    if (layer.bits > 0) {
      ATTNRUN_ASSIGN_OR_RETURN(one, InBlocks(one));
    }
    experts.push_back(std::move(one));
  }
  std::vector<ExpertLayer> in = {experts[0]};
  if (experts.size() == 3) in.push_back(experts[2]);
  if (attributes.activation == ExpertActivation::kSwiglu && attributes.fusion == 1) {
    in = {EachSecond(experts[0], 0), EachSecond(experts[0], 1)};
  }
  PackedExpert packed;
  ATTNRUN_ASSIGN_OR_RETURN(packed.in, Pack(in, context));
  ATTNRUN_ASSIGN_OR_RETURN(packed.out, Pack({experts[1]}, context));
  return packed;
}

}  // namespace

void PackedLayer::Apply(const float* x, int64_t rows, int64_t k, float* out) const {
  const MatrixView a = {x, rows, k, k};
  Epilogue epilogue;
  if (!bias.empty()) epilogue.bias = bias.data();
  if (floats != nullptr) {
    Gemm(a, *floats, out, n, epilogue);
  } else {
    NBitGemm(ActivationsFor(Precision::kFloat32, *codes), a, *codes, out, n, epilogue);
  }
}

absl::StatusOr<std::vector<PackedExpert>> PackExperts(const MoeAttributes& attributes,
                                                      const std::vector<ExpertLayers>& experts,
                                                      const KernelContext& context) {
  const ExpertLayers& first = experts[0];
  for (const ExpertLayer& layer : first) {
    const bool whole = layer.block_size != 0 || BlockOf(layer.k) > 0;
    const bool same_bits = layer.bits == first[0].bits || &layer == &first[1];
    if (layer.weight.defined() && layer.bits > 0 && (!whole || !same_bits))
      return std::vector<PackedExpert>();
  }
  std::vector<PackedExpert> packed;
  for (const ExpertLayers& layers : experts) {
    ATTNRUN_ASSIGN_OR_RETURN(PackedExpert expert, PackExpert(attributes, layers, context));
    packed.push_back(std::move(expert));
  }
  return packed;
}

}  // namespace attnrun::ops
