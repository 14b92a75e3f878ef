// SPDX-License-Identifier: Apache-2.0
// Numbers in a file that no node can honor: overflowing, negative, huge, NaN.
#include <cmath>
#include <limits>

#include "hostile/hostile_model.h"

namespace attnrun::testing {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

class HostileSizesTest : public ::testing::TestWithParam<HostileModel> {};

TEST_P(HostileSizesTest, IsRefused) { ExpectRefused(GetParam()); }

onnx::TensorProto Kernel(int64_t extent) {
  return Floats("w", {1, 1, extent}, std::vector<float>(extent, 1));
}

// y = Range(start, limit, delta)
void MakeRange(GraphProto& graph, float start, float limit, float delta) {
  *graph.add_initializer() = Floats("start", {}, {start});
  *graph.add_initializer() = Floats("limit", {}, {limit});
  *graph.add_initializer() = Floats("delta", {}, {delta});
  AddNode(&graph, "Range", {"start", "limit", "delta"}, {"y"}, "bad");
}

// A product with a 4-bit weight of `k` rows and `n` columns in blocks of `block` rows.
void MakeMatMulNBits(GraphProto& graph, int64_t k, int64_t n, int64_t block) {
  onnx::NodeProto* node =
      Bad(graph, "MatMulNBits", {Ints("codes", {0}), Floats("scales", {1}, {1})});
  node->set_domain("com.microsoft");
  AddIntAttribute(node, "K", k);
  AddIntAttribute(node, "N", n);
  AddIntAttribute(node, "block_size", block);
}

// `count` sparse tensors of 64 MB each, of one element.
void AddSparse(GraphProto& graph, int count) {
  for (int i = 0; i < count; ++i) {
    auto* sparse = graph.add_sparse_initializer();
    sparse->add_dims(int64_t{16} << 20);
    *sparse->mutable_values() = Floats(absl::StrCat("s", i), {1}, {1});
    *sparse->mutable_indices() = Ints("", {0});
  }
}

// One of ONNX Runtime's attention operators on an x of this shape.
onnx::NodeProto* Attention(GraphProto& graph, const std::string& op, const std::vector<int64_t>& x,
                           int64_t heads, const std::vector<onnx::TensorProto>& constants = {}) {
  onnx::NodeProto* node = BadOf(graph, x, op, constants);
  node->set_domain("com.microsoft");
  AddIntAttribute(node, "num_heads", heads);
  return node;
}

const HostileModel kSizes[] = {
    {"ProductOverflows",
     [](ModelProto&, GraphProto& g) { Bad(g, "Tile", {Ints("t", {kHuge, kHuge})}); },
     {"node 'bad' (Tile)", "more elements than 64 bits can count"}},
    {"TooLarge",
     [](ModelProto&, GraphProto& g) { Bad(g, "Tile", {Ints("t", {1 << 20, 1 << 12})}); },
     {"node 'bad' (Tile)", "does not fit", "of the run's limit"},
     kExhausted},
    {"NegativeExtent",
     [](ModelProto&, GraphProto& g) { Bad(g, "Expand", {Ints("s", {-3, 2})}); },
     {"node 'bad' (Expand)", "[-3,2]"}},
    {"ExtentsAtOdds",
     [](ModelProto&, GraphProto& g) { Bad(g, "Expand", {Ints("s", {5, 3})}); },
     {"node 'bad' (Expand)", "shapes [2,3] and [5,3] do not broadcast"}},
    {"TwoExtentsAreOpen",
     [](ModelProto&, GraphProto& g) { Bad(g, "Reshape", {Ints("s", {-1, -1})}); },
     {"node 'bad' (Reshape)", "[-1,-1]"}},
    {"FillOverflows",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("s", {kHuge, kHuge});
       AddNode(&g, "ConstantOfShape", {"s"}, {"y"}, "bad");
     },
     {"node 'bad' (ConstantOfShape)", "more elements than 64 bits can count"}},
    {"RangeOfNan",
     [](ModelProto&, GraphProto& g) { MakeRange(g, 0, NAN, 1); },
     {"node 'bad' (Range)"}},
    {"RangeToInfinity",
     [](ModelProto&, GraphProto& g) { MakeRange(g, 0, INFINITY, 1); },
     {"node 'bad' (Range)"}},
    {"RangeWithoutStep",
     [](ModelProto&, GraphProto& g) { MakeRange(g, 0, 5, 0); },
     {"node 'bad' (Range)"}},
    {"RangeTooFine",
     [](ModelProto&, GraphProto& g) { MakeRange(g, 0, 1e30F, 1e-30F); },
     {"node 'bad' (Range)"}},
    {"PadsOverflow",
     [](ModelProto&, GraphProto& g) { Bad(g, "Pad", {Ints("p", {kLargest, 0, kLargest, 0})}); },
     {"node 'bad' (Pad)"}},
    {"PadsTooLarge",
     [](ModelProto&, GraphProto& g) { Bad(g, "Pad", {Ints("p", {1 << 28, 0, 0, 0})}); },
     {"node 'bad' (Pad)", "does not fit"},
     kExhausted},
    {"WindowPadsOverflow",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "Conv", {Kernel(3)}), "pads", {kLargest / 2, kLargest / 2});
     },
     {"node 'bad' (Conv)", "pads"}},
    {"WindowPadsTooLarge",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "Conv", {Kernel(3)}), "pads", {1 << 30, 1 << 30});
     },
     {"node 'bad' (Conv)", "an output extent beyond 1073741824"}},
    {"NegativePads",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "Conv", {Kernel(3)}), "pads", {-9, -9});
     },
     {"node 'bad' (Conv)", "pads", "[-9,-9]"}},
    {"DilationsOverflow",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "Conv", {Kernel(3)}), "dilations", {kLargest});
     },
     {"node 'bad' (Conv)", "dilations"}},
    {"NoStride",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "MaxPool"), "kernel_shape", {2});
       AddInts(g.mutable_node(0), "strides", {0});
     },
     {"node 'bad' (MaxPool)", "strides", "[0]"}},
    {"StridesTooLarge",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "ConvTranspose", {Kernel(3)}), "strides", {1 << 28});
     },
     {"node 'bad' (ConvTranspose)", "does not fit"},
     kExhausted},
    {"GroupsOverflow",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(BadOf(g, {1, 1, 8}, "Conv", {Kernel(3)}), "group", int64_t{1} << 62);
     },
     {"node 'bad' (Conv)"}},
    {"BlocksOverflow",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(BadOf(g, {1, 4, 2, 2}, "DepthToSpace"), "blocksize", int64_t{1} << 32);
     },
     {"node 'bad' (DepthToSpace)"}},
    {"QuantizedColumnsOverflow",
     [](ModelProto&, GraphProto& g) { MakeMatMulNBits(g, 3, kLargest, 16); },
     {"node 'bad' (com.microsoft.MatMulNBits)", "expected K and N from 1 to 2^31"}},
    {"QuantizedBlockOverflows",
     [](ModelProto&, GraphProto& g) { MakeMatMulNBits(g, 3, 4, kLargest); },
     {"node 'bad' (com.microsoft.MatMulNBits)", "expected block_size to be a power of two"}},
    {"QuantizedWeightIsNotThere",
     [](ModelProto&, GraphProto& g) { MakeMatMulNBits(g, 3, int64_t{1} << 31, 16); },
     {"node 'bad' (com.microsoft.MatMulNBits)", "expected B to be uint8[2147483648,1,8]"}},
    {"GroupedHeadsOverflow",
     [](ModelProto&, GraphProto& g) {
       // 2 * kLargest + 2 is 0 in 64 bits.
       AddIntAttribute(Attention(g, "GroupQueryAttention", {1, 2, 8}, 2), "kv_num_heads", kLargest);
     },
     {"node 'bad' (com.microsoft.GroupQueryAttention)",
      "expected num_heads to be a multiple of kv_num_heads", "2 and 9223372036854775807"}},
    {"WidthsOverflow",
     [](ModelProto&, GraphProto& g) {
       // The sum of the three sizes is 3 in 64 bits.
       const onnx::TensorProto weights = Floats("w", {1, 3}, {1, 1, 1});
       AddInts(Attention(g, "Attention", {1, 2, 1}, 1, {weights}), "qkv_hidden_sizes",
               {kLargest, kLargest, 5});
     },
     {"node 'bad' (com.microsoft.Attention)", "expected widths of q, k and v",
      "3 together, but found 9223372036854775807, 9223372036854775807, 5"}},
    {"MergedHeadsOverflow",
     [](ModelProto&, GraphProto& g) {
       Attention(g, "MultiHeadAttention", {1, 2, 2, 3, 2}, (int64_t{1} << 62) + 1);
     },
     {"node 'bad' (com.microsoft.MultiHeadAttention)",
      "expected query, key and value of 4611686018427387905 heads"}},
    {"AxisBeyondRank",
     [](ModelProto&, GraphProto& g) { AddIntAttribute(Bad(g, "Softmax"), "axis", kSmallest); },
     {"node 'bad' (Softmax)", "axis -9223372036854775808 is outside [-2,1]"}},
    {"IndexWithoutSuccessor",
     [](ModelProto&, GraphProto& g) { Bad(g, "Gather", {Ints("i", {kLargest})}); },
     {"node 'bad' (Gather)", "9223372036854775807"}},
    {"IndexBeyondExtent",
     [](ModelProto&, GraphProto& g) { Bad(g, "Gather", {Ints("i", {kSmallest})}); },
     {"node 'bad' (Gather)", "-9223372036854775808"}},
    {"SplitInManyParts",
     [](ModelProto&, GraphProto& g) { AddIntAttribute(Bad(g, "Split"), "num_outputs", kHuge); },
     {"node 'bad' (Split)", "1099511627776"}},
    {"TopOfMany",
     [](ModelProto&, GraphProto& g) { Bad(g, "TopK", {Ints("k", {kHuge})})->add_output("i"); },
     {"node 'bad' (TopK)", "1099511627776"}},
    {"ScaleIsNan",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("s", {2}, {NAN, 1});
       AddNode(&g, "Resize", {"x", "", "s"}, {"y"}, "bad");
     },
     {"node 'bad' (Resize)"}},
    {"ScaleTooLarge",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("s", {2}, {1e20F, 1e20F});
       AddNode(&g, "Resize", {"x", "", "s"}, {"y"}, "bad");
     },
     {"node 'bad' (Resize)"}},
    {"SparseTensorsTogether",
     [](ModelProto&, GraphProto& g) {
       AddSparse(g, 5);
       Bad(g, "Relu");
     },
     {"sparse initializer 's4': a dense tensor of 16777216 elements does not fit"},
     kExhausted},
    {"HeadsOverflow",
     [](ModelProto& m, GraphProto& g) {
       m.mutable_opset_import(0)->set_version(23);
       Declare(g, {1, 4, 8});
       onnx::NodeProto* node = AddNode(&g, "Attention", {"x", "x", "x"}, {"y"}, "bad");
       AddIntAttribute(node, "q_num_heads", int64_t{1} << 62);
       AddIntAttribute(node, "kv_num_heads", int64_t{1} << 62);
     },
     {"node 'bad", "Attention)"}},
};

INSTANTIATE_TEST_SUITE_P(All, HostileSizesTest, ::testing::ValuesIn(kSizes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
