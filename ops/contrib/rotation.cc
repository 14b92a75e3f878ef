// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

  // The attributes of the standard's operator; nullopt if they are not known, or not valid.
  std::optional<AttributeMap> Attributes(Body& b) const {
    Value* cos = b.input(2);
    Value* sin = b.input(3);
    b.ExpectFloats({b.input(0), cos, sin});
    b.Expect("cos_cache", cos, DataType::kUndefined, {SymInt::Unknown(), SymInt::Unknown()});
    b.Expect("sin_cache", sin, DataType::kUndefined, {b.Dim(cos, 0), b.Dim(cos, 1)});
    if (b.RankOf(b.input(0)) < 0 || b.RankOf(b.input(1)) < 0) {
      b.Fail("the rank of its input, or of position_ids, is not known");
      return std::nullopt;
    }
    const auto pairs = b.Extent(cos, 1);
    if (!pairs.has_value()) b.Fail("the size of its heads is not known");
    if (pairs.value_or(0) > INT64_MAX / 2) b.Fail("there are no such heads");
    if (b.failed()) return std::nullopt;
    const auto count = CountHeads(b, *pairs);
    if (!count.has_value()) return std::nullopt;
    AttributeMap attributes = {{"interleaved", int64_t{interleaved}},
                               {"rotary_embedding_dim", 2 * *pairs}};
    if (*count > 0) attributes["num_heads"] = *count;
    return attributes;
  }

  static Rotation Read(AttributeReader& attributes) {
    attributes.ExpectInt("is_packed_batching", 0);
    attributes.ExpectFloat("scale", 1);
    return {.heads = attributes.Int("num_heads", 0),
            .rotated = attributes.Int("rotary_embedding_dim", 0),
            .interleaved = attributes.Int("interleaved", 0) != 0};
  }
};

// The body has a constant with an element for each pair of channels.
constexpr int64_t kMostPairs = 1 << 16;

// For each pair of channels the number of the position that turns it.
std::vector<int64_t> Streams(Body& b, const std::vector<int64_t>& sections, int64_t layout,
                             int64_t pairs) {
  const bool three = sections.size() == 3 && absl::c_all_of(sections, [&](int64_t section) {
                       return section >= 0 && section <= pairs;
                     });
  if (!three || pairs > kMostPairs || sections[0] + sections[1] + sections[2] != pairs ||
      layout < 0 || layout > 1) {
    b.Fail(absl::StrCat("expected an mrope_section of three numbers with the sum ", pairs,
                        " and an mrope_layout of 0 or 1, but found [", absl::StrJoin(sections, ","),
                        "] and ", layout));
    return {};
  }
  std::vector<int64_t> streams;
  for (int64_t i = 0; i < pairs; ++i) {
    if (layout == 0) {
      streams.push_back(i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2);
    } else {
      streams.push_back(i % 3 > 0 && i < 3 * sections[i % 3] ? i % 3 : 0);
    }
  }
  return streams;
}

}  // namespace

// RotaryEmbedding-1 (x, position_ids int64, cos_cache, sin_cache) -> y like x, which is [B, N, S,
// H] or [B, S, N * H]; the latter with N = `num_heads`, or else heads as wide as the tables say.
// position_ids are [B, S], or [1], the position of every sample's first token.
// `rotary_embedding_dim`: the number of channels of a head that are rotated (0: all). The tables
// [M, R / 2] hold the angles of M positions, as the standard's operator takes them. Not covered:
// is_packed_batching and scale.
Composite::Writer RotaryEmbedding(AttributeReader& attributes) {
  const Rotation rotation = Rotation::Read(attributes);
  return [=](Body& b) {
    const std::optional<AttributeMap> standard = rotation.Attributes(b);
    if (!standard.has_value()) return;
    b.Give(b.Op("RotaryEmbedding", {b.input(0), b.input(2), b.input(3), Rotation::Positions(b)},
                *standard));
  };
}

// MRotaryEmbedding-1 (x, position_ids int64[3, B, S], cos_cache, sin_cache): as RotaryEmbedding,
// but each pair of channels takes its position from one of three: in time, height or width. With
// `mrope_layout` 0 the first mrope_section[0] pairs take the first, the next mrope_section[1] the
// second, and the rest the third. With 1, they alternate, as long as the sections of height and
// width last, and pairs of other numbers take the first.
Composite::Writer MRotaryEmbedding(AttributeReader& attributes) {
  const Rotation rotation = Rotation::Read(attributes);
  const auto sections = attributes.Required<std::vector<int64_t>>("mrope_section");
  const auto layout = attributes.Int("mrope_layout", 0);
  return [=](Body& b) {
    const std::optional<AttributeMap> standard = rotation.Attributes(b);
    if (!standard.has_value()) return;
    Value* x = b.input(0);
    b.Expect("position_ids", b.input(1), DataType::kInt64,
             {3, b.Dim(x, 0), b.Dim(x, b.RankOf(x) - 2)});
    const std::vector<int64_t> streams = Streams(b, sections, layout, *b.Extent(b.input(2), 1));
    if (b.failed()) return;
    // The position of each pair, as rows for all tokens.
    Value* ids = b.Op("Transpose", {b.input(1)}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
    ids = b.Op("Gather", {ids, b.Ints(streams)}, {{"axis", int64_t{2}}});
    Value* shape = b.Op("Shape", {ids});
    Value* rows = b.Op("Reshape", {ids, b.Ints({-1, static_cast<int64_t>(streams.size())})});
    const auto angles = [&](int table) {
      Value* read = b.Op("GatherElements", {b.input(table), rows}, {{"axis", int64_t{0}}});
      return b.Op("Reshape", {read, shape});
    };
    b.Give(b.Op("RotaryEmbedding", {x, angles(2), angles(3)}, *standard));
  };
}

}  // namespace attnrun::ops::contrib
