// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/group_query_inputs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"

namespace attnrun::ops::contrib {
namespace {

// The name of input kKeyScale or kValueScale in the schema.
const char* NameOfScale(int input) {
  return input == GroupedAttention::kKeyScale ? "k_scale" : "v_scale";
}

}  // namespace

GroupedAttention::GroupedAttention(AttributeReader& attributes)
    : heads(attributes.Required<int64_t>("num_heads")),
      kv_heads(attributes.Required<int64_t>("kv_num_heads")),
      scale(attributes.Float("scale", 0)),
      softcap(attributes.Float("softcap", 0)),
      causal(attributes.Int("causal", 1) != 0),
      window(attributes.Int("local_window_size", -1)),
      rotary(attributes.Int("do_rotary", 0) != 0),
      interleaved(attributes.Int("rotary_interleaved", 0) != 0),
      smooth(attributes.Int("smooth_softmax", -1) == 1),
      sliding(attributes.Int("sliding_window_cache", 0) != 0),
      norm_epsilon(attributes.Float("qk_norm_epsilon", 1e-6F)) {
  attributes.ExpectInt("qk_output", 0);
  key_cache = ReadCache(attributes, "k_quant_type", kKeyScale);
  value_cache = ReadCache(attributes, "v_quant_type", kValueScale);
}

// Reads how past keys or values, with this input of scales, are held.
GroupedCache GroupedAttention::ReadCache(AttributeReader& attributes, const char* quant_type,
                                         int scale) const {
  const std::string type =
      attributes.OneOf(quant_type, "NONE", {"NONE", "PER_TENSOR", "PER_CHANNEL"});
  if (type == "NONE") attributes.ExpectNoInput(scale, NameOfScale(scale));
  return {.quantized = type != "NONE",
          .per_channel = type == "PER_CHANNEL",
          .bits = attributes.Int("kv_cache_bit_width", 0),
          .kv_heads = kv_heads};
}

GroupedInputs::GroupedInputs(Body& b, const GroupedAttention& attention) {
  FindHeads(b, attention);
  CheckCache(b, attention.key_cache, kPastKey, kKeyScale);
  CheckCache(b, attention.value_cache, kPastValue, kValueScale);
  CheckPast(b);
  CheckTotal(b, attention);
}

// Finds the number and the size of the heads.
void GroupedInputs::FindHeads(Body& b, const GroupedAttention& attention) {
  Value* query = b.input(kQuery);
  if (!IsHeadCount(attention.heads) || !IsHeadCount(attention.kv_heads) ||
      attention.heads % attention.kv_heads != 0) {
    b.Fail(
        absl::StrCat("expected num_heads to be a multiple of kv_num_heads, both from 1 to "
                     "2^31, but found ",
                     attention.heads, " and ", attention.kv_heads));
    return;
  }
  packed = b.input(kKey) == nullptr;
  const int64_t count = attention.heads + (packed ? 2 * attention.kv_heads : 0);
  const auto width = b.Extent(query, -1);
  const bool known = b.RankOf(query) >= 0 && width.has_value();
  const bool fits = b.RankOf(query) == 3 && width.value_or(0) > 0 && *width % count == 0;
  if (packed != (b.input(kValue) == nullptr) || (known && !fits)) {
    b.Fail(absl::StrCat("expected both key and value or neither, and a query of ", count,
                        " heads, but the query is ", b.Describe(query)));
  }
  type = b.TypeOf(query);
  if (!known || type == DataType::kUndefined) b.Fail("the size of its heads is not known");
  if (b.failed()) return;
  head_size = *width / count;
  b.ExpectFloats({query, b.input(kKey), b.input(kValue), b.input(kQueryNorm), b.input(kKeyNorm)});
  for (const int role : {kKey, kValue}) {
    b.Expect("key and value", b.input(role), type,
             {b.Dim(query, 0), b.Dim(query, 1), attention.kv_heads * head_size});
  }
}

// Checks one of the two pasts and its scales.
void GroupedInputs::CheckCache(Body& b, const GroupedCache& cache, int past, int scale) const {
  if (b.failed()) return;
  cache.Check(b, head_size);
  b.Expect("the past", b.input(past), cache.TypeOf(type),
           {b.Dim(b.input(kQuery), 0), cache.kv_heads, SymInt::Unknown(), cache.RowOf(head_size)});
  if (!cache.quantized) return;
  const char* const name = NameOfScale(scale);
  b.ExpectInput(scale, name);
  const DataType found = b.TypeOf(b.input(scale));
  if (found == DataType::kFloat || found == DataType::kUndefined) return;
  b.Fail(absl::StrCat("expected ", name, " to be float, but it is ", b.Describe(b.input(scale))));
}

void GroupedInputs::CheckPast(Body& b) const {
  Value* keys = b.input(kPastKey);
  Value* values = b.input(kPastValue);
  const auto room = b.Extent(keys, 2);
  const auto other = b.Extent(values, 2);
  const bool differs = room.has_value() && other.has_value() && *room != *other;
  if ((keys == nullptr) == (values == nullptr) && !differs) return;
  b.Fail(absl::StrCat("expected past_key and past_value of one shape, but they are ",
                      b.Describe(keys), " and ", b.Describe(values)));
}

// Checks the lengths, and the window of a cache that slides.
void GroupedInputs::CheckTotal(Body& b, const GroupedAttention& attention) {
  b.ExpectInput(kLengths, "seqlens_k");
  b.ExpectInput(kTotal, "total_sequence_length");
  for (const int i : {kLengths, kTotal}) {
    const DataType found = b.TypeOf(b.input(i));
    if (found == DataType::kInt32 || found == DataType::kUndefined) continue;
    b.Fail(absl::StrCat("expected seqlens_k and total_sequence_length to be int32, but they are ",
                        b.Describe(b.input(kLengths)), " and ", b.Describe(b.input(kTotal))));
  }
  if (const auto number = b.Of(b.input(kTotal)).OnlyElement()) total = *number;
  Value* past = b.input(kPastKey);
  const auto room = past == nullptr ? 0 : b.Extent(past, 2);
  const auto given = b.Extent(b.input(kQuery), 1);
  const auto known = total.constant();
  if (attention.sliding) {
    const bool fits = past != nullptr && attention.window > 0 &&
                      attention.window <= room.value_or(attention.window);
    if (fits && b.input(kScoresBias) == nullptr) return;
    return b.Fail(fits ? "its cache slides, but it has a bias"
                       : absl::StrCat("expected a local_window_size from 1 to the number of past "
                                      "positions, but they are ",
                                      attention.window, " and ", b.Dim(past, 2).ToString()));
  }
  if (!room.has_value() || !given.has_value() || !known.has_value()) return;
  if (*known < *given && past == nullptr) {
    b.Fail(absl::StrCat("expected a total_sequence_length of at least ", *given,
                        " new tokens, but found ", *known));
  }
  if (*known < 0 || *known > *room + *given) {
    b.Fail(absl::StrCat("expected a total_sequence_length of at most ", *room, " past and ", *given,
                        " new tokens, but found ", *known));
  }
}

}  // namespace attnrun::ops::contrib
