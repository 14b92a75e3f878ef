// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_ROUTES_H_
#define ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_ROUTES_H_

#include <cstdint>
#include <optional>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The tokens that go to one expert: where the numbers of experts [T, k] are `expert`.
struct ExpertTokens {
  Value* numbers = nullptr;
  int64_t expert = 0;
  // The NonZero that lists the places, and which row of its result has the tokens; the other row
  // has the places among the k.
  const Node* places = nullptr;
  int token_row = 0;
};

// The row of a NonZero's result of two rows that a value has, perhaps in another shape.
struct PlaceRow {
  const Node* places = nullptr;
  int row = 0;
};
std::optional<PlaceRow> PlaceRowOf(Value* value, Facts& facts);

// The tokens that the NonZero lists; nullopt if it lists no tokens of an expert.
std::optional<ExpertTokens> TokensOf(const Node& places, Facts& facts);

// Why experts are left as they are.
inline constexpr char kNumbersBeyond[] = "the numbers of experts may be beyond those that it adds";
inline constexpr char kChosenTwice[] = "a token may choose an expert twice";

// True if the elements are numbers from 0 to `count` - 1: places of a TopK or an ArgMax, or of
// several, also where `count` itself was replaced by another.
bool AreBelow(Value* numbers, int64_t count, Facts& facts);

// True if no row of the numbers [T, k] has one twice: a TopK chose them.
bool AreDistinct(Value* numbers, Facts& facts);

// x [T, H], where `rows` are its rows of these tokens; null if they are something else. x may have
// other leading axes that count the same.
Value* GatheredFrom(Value* rows, const ExpertTokens& tokens, Facts& facts);

// Weights of tokens, as a matrix.
struct RouteWeights {
  Value* matrix = nullptr;
  // False: [T, k], one for each place. True: [T, E], one for each expert.
  bool by_expert = false;
};

// Where the weights `gathered`, one for each place that the NonZero lists, come from.
std::optional<RouteWeights> WeightsOf(Value* gathered, const ExpertTokens& tokens, Facts& facts);

inline bool IsZero(const Value* value) { return UniformOf(value) == 0; }

// True if a scatter sets elements of zeros, which adds them if each is set once.
bool SetsInZeros(const Node& scatter);

// Weights [T, k] put into zeros [T, E] at their numbers of experts [T, k].
struct WeightRow {
  Value* numbers = nullptr;
  Value* weights = nullptr;
};
std::optional<WeightRow> RowOfWeights(const Value* value, Facts& facts);

// A weight for each token [..., 1]: the sum of its weights [..., k] where its numbers of experts
// [..., k] are `expert`, 0 if none is.
struct WeightOfExpert {
  Value* numbers = nullptr;
  int64_t expert = 0;
  Value* matrix = nullptr;
};
std::optional<WeightOfExpert> WeightOfExpertIn(const Value* value, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_ROUTES_H_
