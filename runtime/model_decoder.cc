// SPDX-License-Identifier: Apache-2.0
#include "model_decoder.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "decoder_inputs.h"

namespace attnrun {
namespace {

// Appends the scores behind the last position, of logits [1, length, vocabulary] or [1, vocabulary].
absl::Status AppendLast(const Tensor& tensor, gen::Logits& logits) {
  const bool good =
      (tensor.rank() == 3 || tensor.rank() == 2) && tensor.dim(0) == 1 && tensor.num_elements() > 0;
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected logits [1, length, vocabulary], but found ", TypeAndShape(tensor)));
  }
  logits.vocabulary = tensor.dim(tensor.rank() - 1);
  const Tensor last =
      tensor.View({logits.vocabulary}, {1}, tensor.num_elements() - logits.vocabulary);
  if (last.type() == DataType::kFloat) {
    logits.values.insert(logits.values.end(), last.data<float>(),
                         last.data<float>() + logits.vocabulary);
    return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, last.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(dense));
  logits.values.insert(logits.values.end(), values.begin(), values.end());
  return absl::OkStatus();
}

class ModelDecoder : public gen::Decoder {
 public:
  ModelDecoder(const ModelSessions& sessions, bool use_cache)
      : sessions_(sessions), current_(&sessions.decoder), use_cache_(use_cache) {}

  absl::Status Start(const std::vector<DecoderRow>& starts) {
    for (const DecoderRow& start : starts) {
      ATTNRUN_ASSIGN_OR_RETURN(State state, NewState(start.capacity));
      rows_.push_back({start.encoded, start.capacity, {}, std::move(state), {}});
      ATTNRUN_RETURN_IF_ERROR(MatchEncoder(rows_.back()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<gen::Logits> Read(absl::Span<const TokenIds> ids,
                                   const RunOptions& options) override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!Continues()) ATTNRUN_RETURN_IF_ERROR(Restart(rows_[i]));
    }
    std::vector<Request> requests;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (ids[i].empty()) continue;
      absl::c_copy(ids[i], std::back_inserter(rows_[i].ids));
      const TokenIds& step = Continues() ? ids[i] : rows_[i].ids;
      ATTNRUN_ASSIGN_OR_RETURN(TensorMap inputs, Inputs(rows_[i], step, options));
      requests.push_back({std::move(inputs), &rows_[i].state});
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<TensorMap> outputs,
                             current_->session.RunTogether(requests, options));
    ATTNRUN_ASSIGN_OR_RETURN(gen::Logits logits, Collect(ids, outputs));
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!ids[i].empty()) ATTNRUN_RETURN_IF_ERROR(KeepCross(rows_[i]));
    }
    if (current_ == &sessions_.decoder && sessions_.with_past.has_value() && use_cache_) {
      ATTNRUN_RETURN_IF_ERROR(GoOnWithPast(outputs));
    }
    return logits;
  }

  absl::Status Select(absl::Span<const int64_t> rows) override {
    std::vector<size_t> uses(rows_.size(), 0);
    for (const int64_t row : rows) ++uses[row];
    std::vector<Row> selected;
    for (const int64_t i : rows) {
      Row& row = rows_[i];
      if (--uses[i] == 0) {
        selected.push_back(std::move(row));
        continue;
      }
      ATTNRUN_ASSIGN_OR_RETURN(State copy, row.state.Clone());
      selected.push_back({row.given, row.capacity, row.ids, std::move(copy), row.cross});
    }
    rows_ = std::move(selected);
    return absl::OkStatus();
  }

 private:
  struct Row {
    // Inputs that stay the same.
    TensorMap given;
    int64_t capacity;
    // All that it has read.
    TokenIds ids;
    State state;
    // Keys and values of the encoder, which the first step computes.
    TensorMap cross;
  };

  // True if the current session goes on from its state.
  bool Continues() const { return use_cache_ && !current_->carried.empty(); }

  absl::StatusOr<State> NewState(int64_t capacity) const {
    StateOptions options;
    options.capacity = capacity;
    return current_->session.NewState(options);
  }

  absl::Status Restart(Row& row) const {
    ATTNRUN_ASSIGN_OR_RETURN(row.state, NewState(row.capacity));
    row.cross.clear();
    return MatchEncoder(row);
  }

  // True if the encoder's keys or values go through this input.
  static bool IsCross(absl::string_view input) {
    return absl::StrContains(input, ".encoder.") || absl::StrContains(input, "cross");
  }

  // Gives the empty keys of the encoder the length of its output, which a merged decoder's inputs
  // share already in the first step.
  absl::Status MatchEncoder(Row& row) const {
    const auto states = row.given.find("encoder_hidden_states");
    if (states == row.given.end() || states->second.rank() != 3) return absl::OkStatus();
    for (const std::string& input : current_->carried) {
      const Tensor value = row.state.value(input);
      if (!IsCross(input) || value.rank() != 4) continue;
      Shape shape = value.shape();
      shape[2] = states->second.dim(1);
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor zeros, FilledTensor(value.type(), shape, 0));
      ATTNRUN_RETURN_IF_ERROR(row.state.Set(input, zeros));
    }
    return absl::OkStatus();
  }

  // Keeps what the first step made of the encoder. In the later ones the outputs of Optimum's merged
  // decoders have no such values.
  absl::Status KeepCross(Row& row) const {
    const bool first = row.cross.empty();
    for (const std::string& input : current_->carried) {
      if (!IsCross(input)) continue;
      if (first) {
        row.cross[input] = row.state.value(input);
      } else {
        ATTNRUN_RETURN_IF_ERROR(row.state.Set(input, row.cross[input]));
      }
    }
    return absl::OkStatus();
  }

  // The inputs for the last ids that a row reads.
  absl::StatusOr<TensorMap> Inputs(const Row& row, const TokenIds& ids,
                                   const RunOptions& options) const {
    const auto past = static_cast<int64_t>(row.ids.size() - ids.size());
    const DecoderStep step{absl::MakeConstSpan(&ids, 1), past};
    TensorMap given = row.given;
    if (sessions_.embed_tokens.has_value() && HasInput(current_->session, "inputs_embeds")) {
      ATTNRUN_ASSIGN_OR_RETURN(given["inputs_embeds"], Embed(step, options));
    }
    return DecoderInputs(current_->session.inputs(), current_->carried, given, step);
  }

  absl::StatusOr<Tensor> Embed(const DecoderStep& step, const RunOptions& options) const {
    const Session& session = *sessions_.embed_tokens;
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs, DecoderInputs(session.inputs(), {}, {}, step));
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap outputs, session.Run(inputs, options));
    return outputs.at(session.outputs()[0].name);
  }

  absl::StatusOr<gen::Logits> Collect(absl::Span<const TokenIds> ids,
                                      const std::vector<TensorMap>& outputs) const {
    gen::Logits logits;
    const Tensor& some = outputs[0].at(current_->logits);
    // Rows without ids may come first.
    logits.vocabulary = some.rank() > 0 ? some.dim(some.rank() - 1) : 0;
    size_t next = 0;
    for (const TokenIds& row : ids) {
      if (row.empty()) {
        logits.values.resize(logits.values.size() + logits.vocabulary);
      } else {
        ATTNRUN_RETURN_IF_ERROR(AppendLast(outputs[next++].at(current_->logits), logits));
      }
    }
    return logits;
  }

  // Hands the caches of the first step to the session that goes on: those that it carries, and those
  // that stay.
  absl::Status GoOnWithPast(const std::vector<TensorMap>& outputs) {
    current_ = &*sessions_.with_past;
    for (size_t i = 0; i < rows_.size(); ++i) {
      ATTNRUN_RETURN_IF_ERROR(Restart(rows_[i]));
      for (const auto& [name, tensor] : outputs[i]) {
        const std::string input = ContinuedInput(current_->session, name);
        if (current_->carried.contains(input)) {
          ATTNRUN_RETURN_IF_ERROR(rows_[i].state.Set(input, tensor));
        } else if (HasInput(current_->session, input)) {
          rows_[i].given[input] = tensor;
        }
      }
    }
    return absl::OkStatus();
  }

  const ModelSessions& sessions_;
  const DecoderSession* current_;
  const bool use_cache_;
  std::vector<Row> rows_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<gen::Decoder>> StartDecoder(const ModelSessions& sessions,
                                                           const std::vector<DecoderRow>& rows,
                                                           bool use_cache) {
  auto decoder = std::make_unique<ModelDecoder>(sessions, use_cache);
  ATTNRUN_RETURN_IF_ERROR(decoder->Start(rows));
  return decoder;
}

}  // namespace attnrun
