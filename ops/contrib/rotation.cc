// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

struct Rotation {
  int64_t heads;
  int64_t rotated;
  bool interleaved;

  // The number of heads of x [B, S, N * H]; 0 for x [B, N, S, H], whose heads are an axis. Nullopt
  // if it is not known, or not valid.
  std::optional<int64_t> CountHeads(Body& b, int64_t pairs) const {
    Value* x = b.input(0);
    const int rank = b.RankOf(x);
    const auto width = b.Extent(x, -1);
    if (!width.has_value() && rank == 3) b.Fail("the size of its heads is not known");
    const int64_t size = heads > 0 ? width.value_or(0) / heads : 2 * pairs;
    const bool whole = size > 0 && width.value_or(0) % size == 0 && (rotated == 0 || heads > 0);
    if (heads < 0 || (rank != 4 && (rank != 3 || !whole))) {
      b.Fail(absl::StrCat("expected [B,N,S,H], or [B,S,N*H] of num_heads ", heads, ", but found ",
                          b.Describe(x)));
    }
    const int64_t turned = rotated != 0 ? rotated : rank == 3 ? size : width.value_or(2 * pairs);
    if (turned != 2 * pairs) {
      b.Fail(absl::StrCat("expected to rotate ", 2 * pairs,
                          " channels, twice the width of cos_cache, but found ", turned));
    }
    if (b.failed()) return std::nullopt;
    return rank == 3 ? *width / size : 0;
  }

  // The positions of all tokens, [B or 1, S].
  static Value* Positions(Body& b) {
    Value* x = b.input(0);
    Value* ids = b.input(1);
    const int sequence = b.RankOf(x) - 2;
    if (b.RankOf(ids) != 1) {
      b.Expect("position_ids", ids, DataType::kInt64, {b.Dim(x, 0), b.Dim(x, sequence)});
      return ids;
    }
    b.Expect("position_ids", ids, DataType::kInt64, {1});
    return b.Unsqueeze(b.Op("Add", {b.Range(b.ExtentOf(x, sequence)), ids}), {0});
  }

  void Write(Body& b) const {
    Value* cos = b.input(2);
    Value* sin = b.input(3);
    b.ExpectFloats({b.input(0), cos, sin});
    b.Expect("cos_cache", cos, DataType::kUndefined, {SymInt::Unknown(), SymInt::Unknown()});
    b.Expect("sin_cache", sin, DataType::kUndefined, {b.Dim(cos, 0), b.Dim(cos, 1)});
    if (b.RankOf(b.input(0)) < 0 || b.RankOf(b.input(1)) < 0) {
      return b.Fail("the rank of its input, or of position_ids, is not known");
    }
    const auto pairs = b.Extent(cos, 1);
    if (!pairs.has_value()) return b.Fail("the size of its heads is not known");
    if (*pairs > INT64_MAX / 2) return b.Fail("there are no such heads");
    const auto count = CountHeads(b, *pairs);
    if (!count.has_value()) return;
    AttributeMap attributes = {{"interleaved", int64_t{interleaved}},
                               {"rotary_embedding_dim", 2 * *pairs}};
    if (*count > 0) attributes["num_heads"] = *count;
    b.Give(b.Op("RotaryEmbedding", {b.input(0), cos, sin, Positions(b)}, attributes));
  }
};

}  // namespace

// RotaryEmbedding-1 (x, position_ids int64, cos_cache, sin_cache) -> y like x, which is [B, N, S,
// H] or [B, S, N * H]; the latter with N = `num_heads`, or else heads as wide as the tables say.
// position_ids are [B, S], or [1], the position of every sample's first token.
// `rotary_embedding_dim`: the number of channels of a head that are rotated (0: all). The tables
// [M, R / 2] hold the angles of M positions, as the standard's operator takes them. Not covered:
// is_packed_batching and scale.
Composite::Writer RotaryEmbedding(AttributeReader& attributes) {
  const Rotation rotation = {.heads = attributes.Int("num_heads", 0),
                             .rotated = attributes.Int("rotary_embedding_dim", 0),
                             .interleaved = attributes.Int("interleaved", 0) != 0};
  attributes.ExpectInt("is_packed_batching", 0);
  attributes.ExpectFloat("scale", 1);
  return [=](Body& b) { rotation.Write(b); };
}

}  // namespace attnrun::ops::contrib
