// SPDX-License-Identifier: Apache-2.0
// Operators that make giants of a few bytes: outputs of exabytes, windows and repeats without end.
#include <limits>
#include <map>

#include "hostile/bounded.h"

namespace attnrun::testing {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

class GiantsTest : public ::testing::TestWithParam<BoundedModel> {};

TEST_P(GiantsTest, EndsInTime) { ExpectBounded(GetParam()); }

// y = op(Expand(1, shape)), of which the Expand is a view of one number.
NodeProto* OfExpanded(GraphProto& graph, const std::string& op, const std::vector<int64_t>& shape) {
  *graph.add_initializer() = Floats("one", {}, {1});
  *graph.add_initializer() = Ints("shape", shape);
  AddNode(&graph, "Expand", {"one", "shape"}, {"wide"}, "expand");
  return AddNode(&graph, op, {"wide"}, {"y"}, "bad");
}

// y = op(Expand(x, [rows, 2, 3]) doubled along axis 0), `count` times.
void Doubled(GraphProto& graph, const std::string& op, const std::string& first, int count) {
  std::string last = first;
  for (int i = 0; i < count; ++i) {
    const std::string next = i + 1 == count ? "y" : absl::StrCat("d", i);
    AddNode(&graph, op, {last, last}, {next}, "bad");
    last = next;
  }
}

// y = op(x) for an image x of one channel.
NodeProto* OfImage(GraphProto& graph, const std::string& op, int64_t channels = 1) {
  return BadOf(graph, {1, channels, 4, 4}, op);
}

const BoundedModel kGiants[] = {
    {"ExpandToExabytes",
     [](ModelProto&, GraphProto& g) { Bad(g, "Expand", {Ints("s", {1 << 20, 1 << 20, 2, 3})}); },
     {"bad"}},
    {"ExpandOfNothing",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {0, 1});
       Bad(g, "Expand", {Ints("s", {kHuge, kHuge, 0, 5})});
     }},
    {"TileOfNothing",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {0, 3});
       Bad(g, "Tile", {Ints("t", {kHuge, kHuge})});
     }},
    {"SortOfExpanded",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("k", {5});
       OfExpanded(g, "TopK", {1, kHuge})->add_input("k");
       g.mutable_node(1)->add_output("i");
     },
     {"Expand"}},
    {"SumOfExpanded",
     [](ModelProto&, GraphProto& g) { OfExpanded(g, "ReduceSum", {1 << 20, 1 << 20}); }},
    {"NonZeroOfExpanded",
     [](ModelProto&, GraphProto& g) { OfExpanded(g, "NonZero", {1 << 20, 1 << 20}); },
     {"Expand"}},
    {"ReluOfExpanded",
     [](ModelProto&, GraphProto& g) { OfExpanded(g, "Relu", {1 << 20, 1 << 20}); },
     {"Expand"}},
    {"ShapeOfExpanded",
     [](ModelProto&, GraphProto& g) { OfExpanded(g, "Shape", {1 << 20, 1 << 20}); }},
    {"ProductOfExpanded",
     [](ModelProto&, GraphProto& g) {
       OfExpanded(g, "MatMul", {1 << 20, 1})->add_input("flat");
       *g.add_initializer() = Ints("flat_shape", {1, 1 << 20});
       AddNode(&g, "Expand", {"one", "flat_shape"}, {"flat"});
       g.mutable_node()->SwapElements(1, 2);
     },
     {"MatMul"}},
    {"OuterProductByEinsum",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = OfExpanded(g, "Einsum", {1 << 20});
       node->add_input("wide");
       SetText(node, "equation", "i,j->ij");
     },
     {"bad"}},
    {"FillOfExabytes",
     [](ModelProto&, GraphProto& g) { OfConstants(g, "ConstantOfShape", {Ints("s", {kHuge})}); },
     {"ConstantOfShape"}},
    {"RangeOfExabytes",
     [](ModelProto&, GraphProto& g) {
       OfConstants(g, "Range", {Scalar("a", 0), Scalar("b", kLargest), Scalar("c", 1)});
     },
     {"Range"}},
    {"RangeBackwards",
     [](ModelProto&, GraphProto& g) {
       OfConstants(g, "Range", {Scalar("a", kLargest), Scalar("b", -kLargest), Scalar("c", -1)});
     },
     {"Range"}},
    {"ResizeByMillions",
     [](ModelProto&, GraphProto& g) {
       Bad(g, "Resize", {Floats("r", {0}, {}), Floats("f", {2}, {1e6F, 1e6F})});
     },
     {"Resize"}},
    {"ResizeToExabytes",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("sizes", {kHuge, kHuge});
       AddNode(&g, "Resize", {"x", "", "", "sizes"}, {"y"}, "bad");
     },
     {"Resize"}},
    {"PadWithExabytes",
     [](ModelProto&, GraphProto& g) { Bad(g, "Pad", {Ints("p", {kHuge, kHuge, 0, 0})}); },
     {"Pad"}},
    {"PadByReflection",
     [](ModelProto&, GraphProto& g) {
       SetText(Bad(g, "Pad", {Ints("p", {kHuge, 0, 0, 0})}), "mode", "wrap");
     },
     {"Pad"}},
    {"OneHotOfExabytes",
     [](ModelProto&, GraphProto& g) {
       OfConstants(g, "OneHot", {Ints("i", {1}), Scalar("depth", kHuge), Floats("v", {2}, {0, 1})});
     },
     {"OneHot"}},
    {"ReshapeWithoutElements",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {0, 3});
       AddIntAttribute(Bad(g, "Reshape", {Ints("s", {kHuge, 0, kHuge, kHuge})}), "allowzero", 1);
     }},
    {"ShapeArithmeticOverflows",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("factor", {1'000'000'000, 1'000'000'000});
       AddNode(&g, "Shape", {"x"}, {"s0"});
       for (int i = 0; i < 4; ++i) {
         AddNode(&g, "Mul", {absl::StrCat("s", i), "factor"}, {absl::StrCat("s", i + 1)});
       }
       AddNode(&g, "ConstantOfShape", {"s4"}, {"y"}, "bad");
     },
     {"ConstantOfShape"}},
    {"ScatterIntoExpanded",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = OfExpanded(g, "ScatterND", {kHuge});
       *g.add_initializer() = Ints("at", {0});
       *g.add_initializer() = Floats("u", {}, {1});
       node->add_input("at");
       node->add_input("u");
     },
     {"Expand"}},
    {"ConvTransposeOfExabytes",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {1, 1, 1, 1}, {1});
       NodeProto* node = OfImage(g, "ConvTranspose");
       node->add_input("w");
       AddInts(node, "output_shape", {kHuge, kHuge});
     },
     {"ConvTranspose"}},
    {"PoolOfHugeWindow",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = OfImage(g, "AveragePool");
       AddInts(node, "kernel_shape", {1 << 29, 1 << 29});
       AddInts(node, "pads", {1 << 28, 1 << 28, 1 << 28, 1 << 28});
     }},
    {"FoldedImageIsHuge",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {1, 4, 4}, "Col2Im", {Ints("image", {kHuge, kHuge}), Ints("block", {2, 2})});
     },
     {"Col2Im"}},
    {"BlocksAreHuge",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(OfImage(g, "DepthToSpace", 4), "blocksize", int64_t{1} << 32);
     },
     {"DepthToSpace"}},
    {"FourierOfHugeLength",
     [](ModelProto&, GraphProto& g) { BadOf(g, {1, 4, 1}, "DFT", {Scalar("length", kHuge)}); },
     {"DFT"}},
    {"WindowOfHugeSize",
     [](ModelProto&, GraphProto& g) { OfConstants(g, "HannWindow", {Scalar("size", kHuge)}); },
     {"HannWindow"}},
    {"BandsWithoutEnd",
     [](ModelProto&, GraphProto& g) {
       OfConstants(g, "MelWeightMatrix",
                   {Scalar("bins", kHuge), Scalar("length", kHuge), Scalar("rate", 16000),
                    Floats("low", {}, {0}), Floats("high", {}, {8000})});
     },
     {"MelWeightMatrix"}},
    {"RandomExabytes",
     [](ModelProto&, GraphProto& g) {
       AddInts(OfConstants(g, "RandomNormal", {}), "shape", {kHuge, kHuge});
     },
     {"RandomNormal"}},
    {"GridOfHugeSize",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {1, 2, 3}, "AffineGrid", {Ints("size", {1, 1, kHuge, kHuge})});
     },
     {"AffineGrid"}},
    {"RecurrenceOfHugeWidth",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node =
           BadOf(g, {1, 1, 1}, "LSTM",
                 {Floats("w", {1, 4, 1}, {1, 1, 1, 1}), Floats("r", {1, 4, 1}, {1, 1, 1, 1})});
       AddIntAttribute(node, "hidden_size", int64_t{1} << 60);
     },
     {"LSTM"}},
    {"GroupsOfNothing",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(BadOf(g, {int64_t{1} << 31, 0}, "Unique"), "axis", 0);
     },
     {"Unique", "of the run's limit"}},
    {"LengthsOfNothing",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = BadOf(g, {1, int64_t{1} << 31, 0}, "DynamicQuantizeLSTM");
       node->set_domain("com.microsoft");
       AddIntAttribute(node, "hidden_size", 1);
       for (const char* input : {"w", "r", "", "", "", "", "", "s", "z", "s", "z"}) {
         node->add_input(input);
       }
       for (const auto& [name, dims] : std::map<std::string, std::vector<int64_t>>{
                {"w", {1, 0, 4}}, {"r", {1, 1, 4}}, {"z", {1}}}) {
         *g.add_initializer() = MakeTensor(name, onnx::TensorProto::UINT8, dims);
         for (int i = 0; name != "w" && i < dims.back(); ++i) {
           g.mutable_initializer()->rbegin()->add_int32_data(1);
         }
       }
       *g.add_initializer() = Floats("s", {1}, {1});
     },
     {"DynamicQuantizeLSTM", "of the run's limit"}},
    {"TextOfGigabytes",
     [](ModelProto&, GraphProto& g) {
       onnx::TensorProto* text = g.add_initializer();
       *text = MakeTensor("text", onnx::TensorProto::STRING, {1});
       text->add_string_data(std::string(1000, 't'));
       Doubled(g, "StringConcat", "text", 40);
     },
     {"out of memory"}},
    {"TextsWithoutEnd",
     [](ModelProto&, GraphProto& g) {
       onnx::TensorProto* text = g.add_initializer();
       *text = MakeTensor("text", onnx::TensorProto::STRING, {1});
       text->add_string_data(std::string(1000, 't'));
       OfConstants(g, "Tile", {Ints("times", {1 << 24})});
       g.mutable_node(0)->clear_input();
       g.mutable_node(0)->add_input("text");
       g.mutable_node(0)->add_input("times");
     },
     {"does not fit"}},
    {"SplitIntoManyPieces",
     [](ModelProto&, GraphProto& g) {
       constexpr int kPieces = 250'000;
       Declare(g, {kPieces});
       NodeProto* split = AddNode(&g, "Split", {"x"}, {}, "bad");
       AddIntAttribute(split, "num_outputs", kPieces);
       for (int i = 0; i + 1 < kPieces; ++i) split->add_output(absl::StrCat(i));
       split->add_output("y");
     }},
    {"AttentionOfHugeLength",
     [](ModelProto& m, GraphProto& g) {
       m.mutable_opset_import(0)->set_version(23);
       OfExpanded(g, "Attention", {1, 1, 1 << 24, 8});
       for (int i = 0; i < 2; ++i) g.mutable_node(1)->add_input("wide");
     }},
    {"CumulativeSumOfExpanded",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Scalar("axis", 0);
       OfExpanded(g, "CumSum", {kHuge})->add_input("axis");
     },
     {"Expand"}},
};

INSTANTIATE_TEST_SUITE_P(All, GiantsTest, ::testing::ValuesIn(kGiants),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
