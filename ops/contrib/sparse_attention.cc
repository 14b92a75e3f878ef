// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

// The inputs.
constexpr int kQuery = 0;
constexpr int kBlockRows = 5;
constexpr int kBlockColumns = 6;
constexpr int kTotal = 7;
constexpr int kLengths = 8;
constexpr int kCos = 9;
constexpr int kSin = 10;

// The body has a constant with an element for each head.
constexpr int64_t kMostHeads = 1 << 16;

// Writes the bias that masks the keys of blocks that are left out.
class BlockMask {
 public:
  BlockMask(Body& b, int64_t heads, int64_t block) : b_(b), heads_(heads), block_(block) {}

  // [B, N, S, T]; null if the body failed.
  Value* Bias() {
    const DataType type = b_.TypeOf(b_.input(kQuery));
    const int64_t layouts = b_.Extent(b_.input(kBlockRows), 0).value_or(-1);
    const int64_t blocks = b_.Extent(b_.input(kBlockRows), 1).value_or(0) - 1;
    if (layouts == -1 || blocks == -1 || type == DataType::kUndefined) {
      b_.Fail("the type of query, or the shape of block_row_indices, is not known");
    } else if (layouts < 1 || blocks < 1 || heads_ < 1 || heads_ > kMostHeads ||
               heads_ % layouts != 0 || block_ < 1) {
      b_.Fail(absl::StrCat("expected 1 to ", kMostHeads,
                           " heads, block_row_indices [L,blocks+1] of L layouts that divide them, "
                           "and blocks of at least 1, but found ",
                           heads_, ", ", b_.Describe(b_.input(kBlockRows)), " and ", block_));
    }
    b_.Expect("block_col_indices", b_.input(kBlockColumns), DataType::kUndefined,
              {b_.Dim(b_.input(kBlockRows), 0), SymInt::Unknown()});
    if (b_.failed()) return nullptr;
    // [L, S blocks, T blocks] of all positions, [L, B, S, T blocks] of the queries, and of keys.
    Value* rows = Take(Blocks(blocks), BlockOf(Positions(), blocks), 1);
    Value* total = b_.Op("Squeeze", {b_.Cast(b_.input(kTotal), DataType::kInt64)});
    Value* all = Take(rows, BlockOf(b_.Range(total), blocks), 3);
    std::vector<int64_t> layout_of_head(heads_);
    for (int64_t head = 0; head < heads_; ++head) layout_of_head[head] = head % layouts;
    all = Take(all, b_.Ints(layout_of_head), 0);
    all = b_.Op("Transpose", {all}, {{"perm", std::vector<int64_t>{1, 0, 2, 3}}});
    const double lowest = type == DataType::kFloat16 ? -65504 : -3e38;
    return b_.Op("Where", {all, b_.Number(type, 0), b_.Number(type, lowest)});
  }

 private:
  Value* Take(Value* data, Value* indices, int64_t axis) {
    return b_.Op("Gather", {data, indices}, {{"axis", axis}});
  }
  Value* Int(int64_t number) { return b_.Number(DataType::kInt64, static_cast<double>(number)); }

  // bool [L, blocks, blocks]: true where the compressed rows list the column.
  Value* Blocks(int64_t blocks) {
    Value* ends = b_.Cast(b_.input(kBlockRows), DataType::kInt64);
    Value* columns = b_.Cast(b_.input(kBlockColumns), DataType::kInt64);
    Value* place = b_.Unsqueeze(b_.Range(b_.ExtentOf(columns, 1)), {0, 1});
    const auto part = [&](int64_t begin, int64_t end) {
      return b_.Unsqueeze(b_.Op("Slice", {ends, b_.Ints({begin}), b_.Ints({end}), b_.Ints({1})}),
                          {2});
    };
    Value* in_row = b_.Op("And", {b_.Op("GreaterOrEqual", {place, part(0, blocks)}),
                                  b_.Op("Less", {place, part(1, blocks + 1)})});
    Value* is_column =
        b_.Op("Equal", {b_.Unsqueeze(columns, {2}), b_.Unsqueeze(b_.Range(Int(blocks)), {0, 1})});
    Value* count =
        b_.Op("MatMul", {b_.Cast(in_row, DataType::kFloat), b_.Cast(is_column, DataType::kFloat)});
    return b_.Op("Greater", {count, b_.Number(DataType::kFloat, 0)});
  }

  // The positions of the queries, [B, S].
  Value* Positions() {
    Value* given = b_.ExtentOf(b_.input(kQuery), 1);
    Value* past = b_.Op("Sub", {b_.Cast(b_.input(kLengths), DataType::kInt64), given});
    past = b_.Unsqueeze(b_.Op("Max", {past, Int(0)}), {1});
    return b_.Op("Add", {past, b_.Unsqueeze(b_.Range(given), {0})});
  }

  Value* BlockOf(Value* positions, int64_t blocks) {
    return b_.Op("Min", {b_.Op("Div", {positions, Int(block_)}), Int(blocks - 1)});
  }

  Body& b_;
  const int64_t heads_;
  const int64_t block_;
};

}  // namespace

// SparseAttention-1 (query, key?, value?, past_key, past_value, block_row_indices int32[L, blocks +
// 1], block_col_indices int32[L, n], total_sequence_length, key_total_sequence_lengths [B],
// cos_cache?, sin_cache?) -> y, present_key, present_value: as GroupQueryAttention, with a bias
// that leaves to each query, of its block of `sparse_block_size` tokens, the keys of the blocks
// that its head's layout lists: head n has layout n modulo L, and row i of a layout lists the
// columns from block_row_indices[i] to block_row_indices[i + 1].
Composite::Writer SparseAttention(AttributeReader& attributes) {
  const auto heads = attributes.Required<int64_t>("num_heads");
  const auto block = attributes.Required<int64_t>("sparse_block_size");
  const AttributeMap grouped = {{"num_heads", heads},
                                {"kv_num_heads", attributes.Required<int64_t>("kv_num_heads")},
                                {"scale", attributes.Float("scale", 0)},
                                {"do_rotary", attributes.Int("do_rotary", 0)},
                                {"rotary_interleaved", attributes.Int("rotary_interleaved", 0)}};
  return [=](Body& b) {
    for (const int i : {kBlockRows, kBlockColumns, kTotal, kLengths}) {
      b.ExpectInput(i, "a table of blocks or a length");
    }
    if (b.failed()) return;
    Value* bias = BlockMask(b, heads, block).Bias();
    if (bias == nullptr) return;
    Value* last = b.Op("Sub", {b.input(kLengths), b.Number(DataType::kInt32, 1)});
    const std::vector<Value*> results =
        b.Ops("com.microsoft::GroupQueryAttention", 3,
              {b.input(0), b.input(1), b.input(2), b.input(3), b.input(4), last, b.input(kTotal),
               b.input(kCos), b.input(kSin), nullptr, bias},
              grouped);
    for (int i = 0; i < 3; ++i) {
      if (i == 0 || b.wants(i)) b.Give(results[i], i);
    }
  };
}

}  // namespace attnrun::ops::contrib
