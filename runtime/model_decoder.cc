// SPDX-License-Identifier: Apache-2.0
#include "model_decoder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/elements.h"
#include "core/quote.h"
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

// The logits of the last `positions` of `ids`, which the row reads at once.
absl::StatusOr<gen::Logits> ReadAtOnce(ModelRow& row, absl::Span<const int64_t> ids,
                                       int64_t positions, const RunOptions& options) {
  ATTNRUN_ASSIGN_OR_RETURN(const Request request, row.Next(ids, positions, options));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap outputs,
                           row.session().session.Run(request.inputs, *request.state, options));
  ATTNRUN_ASSIGN_OR_RETURN(gen::Logits logits,
                           LastLogits(outputs.at(row.session().logits), positions));
  ATTNRUN_RETURN_IF_ERROR(row.Take(ids, outputs));
  return logits;
}

// The same, of ids that the row reads one after another.
absl::StatusOr<gen::Logits> ReadInTurn(ModelRow& row, absl::Span<const int64_t> ids,
                                       int64_t positions, const RunOptions& options) {
  gen::Logits last;
  const size_t first = ids.size() - static_cast<size_t>(positions);
  for (size_t i = 0; i < ids.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const gen::Logits one, ReadAtOnce(row, ids.subspan(i, 1), 1, options));
    if (i < first) continue;
    last.vocabulary = one.vocabulary;
    last.values.insert(last.values.end(), one.values.begin(), one.values.end());
  }
  return last;
}

absl::StatusOr<std::unique_ptr<ModelRow>> CopyOf(const ModelRow& row) {
  return row.Copy(static_cast<int64_t>(row.ids().size()), row.capacity());
}

// Finds out on the first two ids, with copies of the row.
absl::StatusOr<bool> ReadsSeveral(const ModelRow& row, absl::Span<const int64_t> ids,
                                  const RunOptions& options) {
  ATTNRUN_ASSIGN_OR_RETURN(const auto at_once, CopyOf(row));
  ATTNRUN_ASSIGN_OR_RETURN(const auto in_turn, CopyOf(row));
  const absl::Span<const int64_t> two = ids.first(2);
  const int64_t positions = row.session().has_positions ? 2 : 1;
  ATTNRUN_ASSIGN_OR_RETURN(const gen::Logits b, ReadInTurn(*in_turn, two, positions, options));
  const absl::StatusOr<gen::Logits> a = ReadAtOnce(*at_once, two, positions, options);
  // The model may take no more than one id.
  if (absl::IsInvalidArgument(a.status())) return false;
  ATTNRUN_RETURN_IF_ERROR(a.status());
  return a->values == b.values;
}

// True if the row must read the ids one at a time.
absl::StatusOr<bool> MustReadInTurn(const ModelRow& row, absl::Span<const int64_t> ids,
                                    const RunOptions& options) {
  if (ids.size() == 1 || !row.has_cache()) return false;
  if (row.ids().empty() && !row.session().starts_with_state) return false;
  std::atomic<DecoderSession::ReadsSeveral>& known = *row.session().reads_several;
  if (known == DecoderSession::ReadsSeveral::kUnknown) {
    ATTNRUN_ASSIGN_OR_RETURN(const bool reads, ReadsSeveral(row, ids, options));
    known = reads ? DecoderSession::ReadsSeveral::kYes : DecoderSession::ReadsSeveral::kNo;
  }
  return known == DecoderSession::ReadsSeveral::kNo;
}

// The logits of the first of `ids`, which a new row reads at once, within some seconds.
absl::StatusOr<gen::Logits> LogitsOfFirst(const ModelSessions& sessions,
                                          absl::Span<const int64_t> ids) {
  const auto length = static_cast<int64_t>(ids.size());
  RunOptions options;
  options.deadline = absl::Now() + absl::Seconds(10);
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRow> row,
                           ModelRow::Make(sessions, {}, length, false));
  ATTNRUN_ASSIGN_OR_RETURN(gen::Logits logits, ReadAtOnce(*row, ids, length, options));
  logits.values.resize(static_cast<size_t>(logits.vocabulary));
  return logits;
}

}  // namespace

absl::Status CheckCausal(const ModelSessions& sessions) {
  const DecoderSession& decoder = sessions.decoder;
  const bool alone = !sessions.with_past.has_value() && !sessions.encoder.has_value();
  if (!decoder.carried.empty() || !decoder.has_positions || !alone) return absl::OkStatus();
  const absl::StatusOr<gen::Logits> one = LogitsOfFirst(sessions, {1});
  const absl::StatusOr<gen::Logits> two = LogitsOfFirst(sessions, {1, 2});
  // Some models take no such lengths, or too much time, which says nothing.
  if (!one.ok() || !two.ok() || one->vocabulary != two->vocabulary) return absl::OkStatus();
  // More than rounding changes, also that of activations to 8 bits with a scale of all tokens, and
  // less than what another token does.
  constexpr float kRelative = 0.1F;
  float largest = 0;
  float difference = 0;
  for (size_t i = 0; i < one->values.size(); ++i) {
    largest = std::max(largest, std::abs(one->values[i]));
    difference = std::max(difference, std::abs(one->values[i] - two->values[i]));
  }
  if (difference <= kRelative * largest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected a decoder, but output ", Quoted(decoder.logits),
                   " at the first token changes with the second token"));
}

absl::StatusOr<std::unique_ptr<gen::Row>> ModelDecoder::NewRow(const TensorMap& given,
                                                               int64_t capacity, bool use_cache,
                                                               gen::PromptMask mask) const {
  return ModelRow::Make(sessions_, given, capacity, use_cache, std::move(mask));
}

absl::StatusOr<std::vector<gen::Logits>> ModelDecoder::Read(absl::Span<const gen::Reading> readings,
                                                            const RunOptions& options) const {
  // Rows take what they have read when all sessions have run, since none may change if one fails. A
  // decoder that another one follows keeps nothing in its state.
  std::vector<Result> results(readings.size());
  ATTNRUN_RETURN_IF_ERROR(RunOne(sessions_.decoder, readings, options, results));
  if (sessions_.with_past.has_value()) {
    ATTNRUN_RETURN_IF_ERROR(RunOne(*sessions_.with_past, readings, options, results));
  }
  std::vector<gen::Logits> logits;
  for (size_t i = 0; i < readings.size(); ++i) {
    if (results[i].row != nullptr) {
      logits.push_back(std::move(results[i].logits));
      continue;
    }
    const Tensor& all = results[i].outputs.at(RowOf(readings[i]).session().logits);
    ATTNRUN_ASSIGN_OR_RETURN(logits.emplace_back(), LastLogits(all, readings[i].positions));
  }
  for (size_t i = 0; i < readings.size(); ++i) {
    ModelRow& row = RowOf(readings[i]);
    if (results[i].row != nullptr) {
      row.Replace(std::move(results[i].row));
    } else {
      ATTNRUN_RETURN_IF_ERROR(row.Take(readings[i].ids, results[i].outputs));
    }
  }
  return logits;
}

// Runs a session for the rows that it reads.
absl::Status ModelDecoder::RunOne(const DecoderSession& session,
                                  absl::Span<const gen::Reading> readings,
                                  const RunOptions& options, std::vector<Result>& results) const {
  std::vector<size_t> chosen;
  std::vector<Request> requests;
  for (size_t i = 0; i < readings.size(); ++i) {
    const gen::Reading& reading = readings[i];
    ModelRow& row = RowOf(reading);
    if (&row.session() != &session) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const bool in_turn, MustReadInTurn(row, reading.ids, options));
    if (in_turn) {
      ATTNRUN_ASSIGN_OR_RETURN(results[i].row, CopyOf(row));
      ATTNRUN_ASSIGN_OR_RETURN(
          results[i].logits, ReadInTurn(*results[i].row, reading.ids, reading.positions, options));
      continue;
    }
    chosen.push_back(i);
    ATTNRUN_ASSIGN_OR_RETURN(requests.emplace_back(),
                             row.Next(reading.ids, reading.positions, options));
  }
  if (requests.empty()) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<TensorMap> outputs,
                           session.session.RunTogether(requests, options));
  for (size_t r = 0; r < chosen.size(); ++r) results[chosen[r]].outputs = std::move(outputs[r]);
  return absl::OkStatus();
}

}  // namespace attnrun
