// SPDX-License-Identifier: Apache-2.0
// Inference of gathering and scattering operators.
#include <utility>

#include "ops/gather/compress.h"
#include "ops/gather/elements.h"
#include "ops/gather/gather.h"
#include "ops/gather/nd.h"
#include "ops/gather/tensor_scatter.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The elements of input 0, a list, that input 1 selects.
std::optional<std::vector<SymInt>> GatheredContents(const InferContext& context) {
  const ValueFacts& data = context.input(0);
  const ValueFacts& indices = context.input(1);
  if (!data.contents.has_value() || !indices.contents.has_value()) return std::nullopt;
  std::vector<SymInt> gathered;
  for (const SymInt& index : *indices.contents) {
    const std::optional<int64_t> number = index.constant();
    if (!number.has_value()) {
      gathered.push_back(SymInt::Unknown());
      continue;
    }
    const std::optional<size_t> position = KnownAxis(*number, data.contents->size());
    if (!position.has_value()) return std::nullopt;
    gathered.push_back((*data.contents)[*position]);
  }
  return gathered;
}

}  // namespace

void Gather::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  const ValueFacts& indices = context.input(1);
  SetDims(context, 0, std::nullopt);
  if (!data.dims.has_value() || !indices.dims.has_value()) return;
  const std::optional<size_t> axis = KnownAxis(axis_, data.dims->size());
  if (!axis.has_value()) return;
  context.RequireIndices(1, (*data.dims)[*axis]);
  const auto split = data.dims->begin() + static_cast<int64_t>(*axis);
  Dims dims(data.dims->begin(), split);
  dims.insert(dims.end(), indices.dims->begin(), indices.dims->end());
  dims.insert(dims.end(), split + 1, data.dims->end());
  const bool is_list = data.dims->size() == 1 && indices.dims->size() <= 1;
  context.SetOutput(
      0, {data.type, std::move(dims), is_list ? GatheredContents(context) : std::nullopt});
}

void GatherElements::Infer(InferContext& context) const {
  SetDims(context, 0, context.input(1).dims);
  const std::optional<Dims>& data = context.input(0).dims;
  const auto axis = data.has_value() ? KnownAxis(axis_, data->size()) : std::nullopt;
  if (axis.has_value()) context.RequireIndices(1, (*data)[*axis]);
}

void ScatterElements::Infer(InferContext& context) const { InferLikeInput(context); }

void GatherND::Infer(InferContext& context) const {
  const std::optional<Dims>& data = context.input(0).dims;
  const std::optional<Dims>& indices = context.input(1).dims;
  SetDims(context, 0, std::nullopt);
  if (!data.has_value() || !indices.has_value() || indices->empty()) return;
  const std::optional<int64_t> tuple = indices->back().constant();
  const auto rank = static_cast<int64_t>(data->size());
  if (!tuple.has_value() || batch_dims_ < 0 || *tuple < 1 || *tuple > rank - batch_dims_) return;
  if (*tuple == 1) context.RequireIndices(1, (*data)[batch_dims_]);
  Dims dims(indices->begin(), indices->end() - 1);
  for (int64_t i = 0; i < batch_dims_ && i < static_cast<int64_t>(dims.size()); ++i) {
    dims[i] = Same(dims[i], (*data)[i]);
  }
  dims.insert(dims.end(), data->begin() + batch_dims_ + *tuple, data->end());
  SetDims(context, 0, std::move(dims));
}

void ScatterND::Infer(InferContext& context) const { InferLikeInput(context); }

void TensorScatter::Infer(InferContext& context) const {
  InferLikeInput(context);
  const std::optional<Dims>& cache = context.input(0).dims;
  const std::optional<Dims>& update = context.input(1).dims;
  if (!cache.has_value() || !update.has_value() || cache->size() != update->size()) return;
  const std::optional<size_t> axis = KnownAxis(axis_, cache->size());
  if (!axis.has_value() || circular_) return;
  const SymInt room = (*cache)[*axis] - (*update)[*axis];
  context.Require(room);
  if (context.has_input(2)) context.RequireIndices(2, room + 1);
}

void Compress::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  SetDims(context, 0, std::nullopt);
  if (!axis_.has_value()) return SetDims(context, 0, UnknownDims(1));
  if (!dims.has_value()) return;
  const std::optional<size_t> axis = KnownAxis(*axis_, dims->size());
  if (!axis.has_value()) return;
  (*dims)[*axis] = SymInt::Unknown();
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
