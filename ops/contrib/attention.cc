// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/attention.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/composite/composite.h"
#include "ops/quantization/int8/integer_product.h"

namespace attnrun::ops::contrib {
namespace {

// Attention over a projection of x.
struct PackedAttention : MaskedAttention {
  explicit PackedAttention(AttributeReader& attributes) : MaskedAttention(attributes) {
    attributes.ExpectInt("do_rotary", 0);
    attributes.ExpectInt("past_present_share_buffer", 0);
  }

  // The widths of q, k and v; empty if they are equal.
  std::vector<int64_t> sizes = {};

  // The widths of q, k and v, which add up to `width`. Empty if they are not known or not valid.
  std::vector<int64_t> Sizes(Body& b, std::optional<int64_t> width) const {
    std::vector<int64_t> found = sizes;
    if (found.empty() && !width.has_value()) {
      b.Fail("the size of its heads is not known");
      return {};
    }
    if (found.empty()) found.assign(3, *width / 3);
    bool fits = found.size() == 3 && heads > 0 && found[0] == found[1];
    for (size_t i = 0; fits && i < 3; ++i) {
      fits = found[i] > 0 && found[i] % heads == 0 && found[i] <= width.value_or(found[i]);
    }
    if (fits && (!width.has_value() || *width - found[0] - found[1] == found[2])) return found;
    b.Fail(absl::StrCat("expected widths of q, k and v that are multiples of num_heads = ", heads,
                        ", equal for q and k",
                        width.has_value() ? absl::StrCat(", and ", *width, " together") : "",
                        ", but found ", absl::StrJoin(found, ", ")));
    return {};
  }

  // Splits keys and values into heads, puts those of the past before them if there is one, and
  // gives the present for the next run.
  static void AddPast(Body& b, Value* past, AttentionParts& parts) {
    const SymInt batch = b.Dim(b.input(0), 0);
    b.Expect("a past", past, parts.type,
             {2, batch, parts.heads, SymInt::Unknown(), parts.head_size});
    PutByHead(b, parts);
    const auto after_past = [&](int64_t half, Value* heads) {
      Value* before = b.Op("Gather", {past, b.Number(DataType::kInt64, static_cast<double>(half))});
      return b.Op("Concat", {before, heads}, {{"axis", int64_t{2}}});
    };
    if (past != nullptr) {
      parts.k = after_past(0, parts.k);
      parts.v = after_past(1, parts.v);
    }
    if (!b.wants(1)) return;
    b.Give(b.Op("Concat", {b.Unsqueeze(parts.k, {0}), b.Unsqueeze(parts.v, {0})},
                {{"axis", int64_t{0}}}),
           1);
  }

  // `packed`: the projection [B, S, Dq + Dk + Dv], where `found` are these three widths.
  void Attend(Body& b, const std::vector<int64_t>& found, Value* packed, DataType type, Value* past,
              Value* bias, Value* mask) const {
    AttentionParts parts = {.heads = heads,
                            .kv_heads = heads,
                            .head_size = found[0] / heads,
                            .value_size = found[2] / heads,
                            .type = type,
                            .scale = scale};
    const std::vector<Value*> qkv =
        b.Ops("Split", 3, {packed, b.Ints(found)}, {{"axis", int64_t{-1}}});
    parts.q = qkv[0];
    parts.k = qkv[1];
    parts.v = qkv[2];
    if (past != nullptr || b.wants(1)) AddPast(b, past, parts);
    AddScoreTerms(b, bias, mask, filter, parts);
    if (causal) parts.causal = past != nullptr ? 2 : 1;
    GiveAttention(b, parts);
  }
};

// Checks x [B, S, D], the weights [D, N] and the bias [N]. Returns false if it fails.
bool CheckProjection(Body& b, Value* x, Value* weights, Value* bias, DataType type) {
  const SymInt any = SymInt::Unknown();
  b.Expect("the input", x, DataType::kUndefined, {any, any, b.Dim(weights, 0)});
  b.Expect("weights", weights, DataType::kUndefined, {b.Dim(x, 2), any});
  b.Expect("a bias", bias, type, {b.Dim(weights, 1)});
  if (b.RankOf(x) != 3 || !IsFloatingPoint(type)) b.Fail("the size of its heads is not known");
  return !b.failed();
}

}  // namespace

// Attention-1 (x [B, S, D], weights [D, Dq + Dk + Dv], bias? [Dq + Dk + Dv], mask?, past? [2, B, N,
// P, H], attention_bias? [B or 1, N or 1, S, T]) -> (y [B, S, Dv], present? [2, B, N, T, H]), with
// T = P + S and N = `num_heads`:
//   q, k, v = the parts of x·weights + bias, of widths `qkv_hidden_sizes` (equal if left out), N
//     heads each; k and v follow those of the past
//   scores = scale * q k^T + attention_bias, plus `mask_filter_value` for masked keys
//   y = softmax(scores) v
// `unidirectional`: query s sees keys up to P + s. For the mask see AddScoreTerms. Not covered:
// do_rotary, and past_present_share_buffer with its past_sequence_length.
//
//   x  weights  bias  mask  past  attention_bias         x  weights  bias
//    \    \      |     |     /      /                        \ | /
//              Attention                     ->        Linear [B, S, 3 N H]
//               /     |                                  |     |      |
//              y   present                               q    k, v    |    mask, attention_bias
//                                                         \  Concat with the past   /
//                                                          attnrun.Attention
Composite::Writer Attention(AttributeReader& attributes) {
  enum Input { kX, kWeights, kBias, kMask, kPast, kScoresBias, kPastLength };
  PackedAttention attention(attributes);
  attention.sizes = attributes.Ints("qkv_hidden_sizes");
  attributes.Ignore("rotary_embedding_dim");
  attributes.ExpectNoInput(kPastLength, "past_sequence_length");
  return [=](Body& b) {
    Value* x = b.input(kX);
    Value* weights = b.input(kWeights);
    const DataType type = b.TypeOf(x);
    b.ExpectFloats({x, weights, b.input(kBias), b.input(kPast), b.input(kScoresBias)});
    if (!CheckProjection(b, x, weights, b.input(kBias), type)) return;
    const std::vector<int64_t> sizes = attention.Sizes(b, b.Extent(weights, 1));
    if (sizes.empty()) return;
    Value* packed = b.Op("MatMul", {x, weights});
    if (b.input(kBias) != nullptr) packed = b.Op("Add", {packed, b.input(kBias)});
    attention.Attend(b, sizes, packed, type, b.input(kPast), b.input(kScoresBias), b.input(kMask));
  };
}

// QAttention-1 (input, weight, bias, input_scale, weight_scale, mask?, input_zero_point?,
// weight_zero_point?, past?) -> (y, present?): Attention of (input - input_zero_point) *
// input_scale and (weight - weight_zero_point) * weight_scale, where input and weight are int8 or
// uint8. The input's scale and zero point are scalars, the weight's are scalars or one per column.
// The projection is computed in integers.
Composite::Writer QAttention(AttributeReader& attributes) {
  enum Input {
    kX,
    kWeights,
    kBias,
    kXScale,
    kWeightScale,
    kMask,
    kXZeroPoint,
    kWeightZeroPoint,
    kPast
  };
  const PackedAttention attention(attributes);
  return [=](Body& b) {
    const DataType type = b.TypeOf(b.input(kBias));
    if (!CheckProjection(b, b.input(kX), b.input(kWeights), b.input(kBias), type)) return;
    const std::vector<int64_t> sizes = attention.Sizes(b, b.Extent(b.input(kWeights), 1));
    if (sizes.empty()) return;
    Value* packed = IntegerProduct(
        b, {"input", b.input(kX), b.input(kXScale), b.input(kXZeroPoint)},
        {"weight", b.input(kWeights), b.input(kWeightScale), b.input(kWeightZeroPoint)});
    packed = b.Op("Add", {packed, b.Cast(b.input(kBias), DataType::kFloat)});
    attention.Attend(b, sizes, b.Cast(packed, type), type, b.input(kPast), nullptr, b.input(kMask));
  };
}

}  // namespace attnrun::ops::contrib
