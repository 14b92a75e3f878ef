// SPDX-License-Identifier: Apache-2.0
#include "generation/search.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

// The ids from `begin` to `begin` + count of a prompt.
TokenIds Piece(const TokenIds& prompt, size_t begin, size_t count) {
  begin = std::min(begin, prompt.size());
  const auto first = prompt.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(count, prompt.size() - begin))};
}

}  // namespace

absl::StatusOr<Logits> ReadPrompts(Decoder& decoder, absl::Span<const TokenIds> prompts,
                                   SearchContext& context) {
  const absl::Time start = absl::Now();
  size_t longest = 0;
  for (const TokenIds& prompt : prompts) longest = std::max(longest, prompt.size());
  const auto wanted = static_cast<size_t>(context.config.prefill_chunk_size);
  const size_t chunk = wanted > 0 ? wanted : longest;
  Logits logits;
  for (size_t begin = 0; begin < longest; begin += chunk) {
    std::vector<TokenIds> pieces;
    for (const TokenIds& prompt : prompts) pieces.push_back(Piece(prompt, begin, chunk));
    ATTNRUN_ASSIGN_OR_RETURN(Logits read, decoder.Read(pieces, context.run));
    if (begin == 0) logits = read;
    for (size_t i = 0; i < prompts.size(); ++i) {
      if (!pieces[i].empty()) absl::c_copy(read.row(i), logits.row(i).begin());
    }
  }
  Meter& meter = context.meter;
  meter.prompt_time += absl::Now() - start;
  for (const TokenIds& prompt : prompts) {
    meter.prompt_tokens += static_cast<int64_t>(prompt.size());
  }
  meter.first_token = std::min(meter.first_token, absl::Now() - meter.start);
  return logits;
}

absl::StatusOr<Logits> ReadNext(Decoder& decoder, const TokenIds& tokens, SearchContext& context) {
  const absl::Time start = absl::Now();
  std::vector<TokenIds> ids;
  for (const int64_t token : tokens) ids.push_back({token});
  absl::StatusOr<Logits> logits = decoder.Read(ids, context.run);
  context.meter.decode_time += absl::Now() - start;
  context.meter.decode_tokens += static_cast<int64_t>(tokens.size());
  return logits;
}

bool EndsWithStop(const GenerationConfig& config, absl::Span<const int64_t> ids, int64_t prompt) {
  if (absl::c_linear_search(config.eos_token_id, ids.back())) return true;
  return absl::c_any_of(config.stop_sequences, [&](const TokenIds& stop) {
    const size_t size = stop.size();
    return ids.size() - prompt >= size && absl::c_equal(ids.last(size), stop);
  });
}

bool IsTimeOver(const SearchContext& context) {
  const std::optional<double> most = context.config.max_time;
  return most.has_value() && absl::Now() - context.meter.start > absl::Seconds(*most);
}

}  // namespace attnrun::gen
