// SPDX-License-Identifier: Apache-2.0
#include "model_decoder.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "model_row.h"

namespace attnrun {
namespace {

// The last `positions` of logits [1, length, vocabulary] or [1, vocabulary].
absl::StatusOr<gen::Logits> LastLogits(const Tensor& tensor, int64_t positions) {
  const int64_t given = tensor.rank() == 3 ? tensor.dim(1) : 1;
  const bool good = (tensor.rank() == 3 || tensor.rank() == 2) && tensor.dim(0) == 1 &&
                    tensor.num_elements() > 0 && given >= positions;
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected logits [1, length, vocabulary] of at least ", positions,
                     " positions, but found ", TypeAndShape(tensor)));
  }
  gen::Logits logits{tensor.dim(tensor.rank() - 1), {}};
  const int64_t count = positions * logits.vocabulary;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense());
  const Tensor last = dense.View({count}, {1}, dense.num_elements() - count);
  if (last.type() == DataType::kFloat) {
    logits.values.assign(last.data<float>(), last.data<float>() + count);
    return logits;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(last));
  logits.values.assign(values.begin(), values.end());
  return logits;
}

ModelRow& RowOf(const gen::Reading& reading) { return *static_cast<ModelRow*>(reading.row); }

}  // namespace

absl::StatusOr<std::unique_ptr<gen::Row>> ModelDecoder::NewRow(const TensorMap& given,
                                                               int64_t capacity,
                                                               bool use_cache) const {
  return ModelRow::Make(sessions_, given, capacity, use_cache);
}

absl::StatusOr<std::vector<gen::Logits>> ModelDecoder::Read(absl::Span<const gen::Reading> readings,
                                                            const RunOptions& options) const {
  // Rows take what they have read when all sessions have run, since none may change if one fails. A
  // decoder that another one follows keeps nothing in its state.
  std::vector<TensorMap> outputs(readings.size());
  ATTNRUN_RETURN_IF_ERROR(RunOne(sessions_.decoder, readings, options, outputs));
  if (sessions_.with_past.has_value()) {
    ATTNRUN_RETURN_IF_ERROR(RunOne(*sessions_.with_past, readings, options, outputs));
  }
  std::vector<gen::Logits> logits;
  for (size_t i = 0; i < readings.size(); ++i) {
    const Tensor& all = outputs[i].at(RowOf(readings[i]).session().logits);
    ATTNRUN_ASSIGN_OR_RETURN(logits.emplace_back(), LastLogits(all, readings[i].positions));
  }
  for (size_t i = 0; i < readings.size(); ++i) {
    ATTNRUN_RETURN_IF_ERROR(RowOf(readings[i]).Take(readings[i].ids, outputs[i]));
  }
  return logits;
}

// Runs a session for the rows that it reads.
absl::Status ModelDecoder::RunOne(const DecoderSession& session,
                                  absl::Span<const gen::Reading> readings,
                                  const RunOptions& options,
                                  std::vector<TensorMap>& outputs) const {
  std::vector<size_t> chosen;
  std::vector<Request> requests;
  for (size_t i = 0; i < readings.size(); ++i) {
    const gen::Reading& reading = readings[i];
    ModelRow& row = RowOf(reading);
    if (&row.session() != &session) continue;
    chosen.push_back(i);
    ATTNRUN_ASSIGN_OR_RETURN(requests.emplace_back(),
                             row.Next(reading.ids, reading.positions, options));
  }
  if (requests.empty()) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<TensorMap> results,
                           session.session.RunTogether(requests, options));
  for (size_t r = 0; r < chosen.size(); ++r) outputs[chosen[r]] = std::move(results[r]);
  return absl::OkStatus();
}

}  // namespace attnrun
