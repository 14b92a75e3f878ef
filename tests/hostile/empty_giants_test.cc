// SPDX-License-Identifier: Apache-2.0
// Tensors without elements may have axes of any length, which take no memory. Operators must not
// take any for them, either: no table per position, no counter per row.
#include "hostile/bounded.h"

namespace attnrun::testing {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

class EmptyGiantsTest : public ::testing::TestWithParam<BoundedModel> {};

TEST_P(EmptyGiantsTest, Run) { ExpectRuns(GetParam()); }

constexpr int64_t kLong = int64_t{1} << 31;

const BoundedModel kEmptyGiants[] = {
    {"TopK",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {0, kLong}, "TopK", {Ints("k", {3})})->add_output("i");
     }},
    {"Softmax", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "Softmax"); }},
    {"SoftmaxOfNoColumns", [](ModelProto&, GraphProto& g) { BadOf(g, {kLong, 0}, "Softmax"); }},
    {"Hardmax", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "Hardmax"); }},
    {"ArgMax", [](ModelProto&,
                  GraphProto& g) { AddIntAttribute(BadOf(g, {0, kLong}, "ArgMax"), "axis", 1); }},
    {"CumSum",
     [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "CumSum", {Scalar("axis", 1)}); }},
    {"InstanceNormalization",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {kLong, 1, 0}, "InstanceNormalization",
             {Floats("scale", {1}, {1}), Floats("bias", {1}, {0})});
     }},
    {"Multinomial", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "Multinomial"); }},
    {"Transpose", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "Transpose"); }},
    {"NonZero", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "NonZero"); }},
    {"Trilu", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong, kLong}, "Trilu"); }},
    {"EyeLike", [](ModelProto&, GraphProto& g) { BadOf(g, {0, kLong}, "EyeLike"); }},
    {"Gather",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(BadOf(g, {0, kLong}, "Gather", {Ints("at", {5})}), "axis", 1);
     }},
    {"Split",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = BadOf(g, {0, kLong}, "Split");
       node->add_output("z");
       AddIntAttribute(node, "num_outputs", 2);
       AddIntAttribute(node, "axis", 1);
     }},
    {"OneHot",
     [](ModelProto&, GraphProto& g) {
       OfConstants(g, "OneHot", {Ints("i", {}), Scalar("depth", kLong), Floats("v", {2}, {0, 1})});
     }},
    {"PadByRepetition",
     [](ModelProto&, GraphProto& g) {
       SetText(BadOf(g, {0, 4}, "Pad", {Ints("p", {0, 0, 0, kLong})}), "mode", "edge");
     }},
    {"PadAround",
     [](ModelProto&, GraphProto& g) {
       SetText(BadOf(g, {0, 4}, "Pad", {Ints("p", {0, 0, 0, kLong})}), "mode", "wrap");
     }},
    {"ResizeToNearest",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("sizes", {1, 0, 1 << 30, 4});
       BadOf(g, {1, 0, 4, 4}, "Resize")->add_input("");
       g.mutable_node(0)->add_input("");
       g.mutable_node(0)->add_input("sizes");
     }},
    {"ResizeByWeights",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("sizes", {1, 0, 1 << 30, 4});
       BadOf(g, {1, 0, 4, 4}, "Resize")->add_input("");
       g.mutable_node(0)->add_input("");
       g.mutable_node(0)->add_input("sizes");
       SetText(g.mutable_node(0), "mode", "linear");
     }},
    {"Fourier",
     [](ModelProto&, GraphProto& g) { BadOf(g, {0, 4, 1}, "DFT", {Scalar("length", 1 << 29)}); }},
    {"Convolution",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {0, 1, 4}, "Conv", {Floats("w", {1, 1, 3}, {1, 1, 1})}), "pads",
               {1 << 28, 1 << 28});
     }},
    {"TransposedConvolution",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {0, 1, 4}, "ConvTranspose", {Floats("w", {1, 1, 3}, {1, 1, 1})}), "strides",
               {1 << 27});
     }},
    {"AveragePool",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = BadOf(g, {0, 1, 4}, "AveragePool");
       AddInts(node, "kernel_shape", {1 << 28});
       AddInts(node, "pads", {1 << 27, 1 << 27});
     }},
    {"MaxPool",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = BadOf(g, {0, 1, 4}, "MaxPool");
       AddInts(node, "kernel_shape", {1 << 28});
       AddInts(node, "pads", {1 << 27, 1 << 27});
     }},
    {"FoldedImage",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {0, 4, 9}, "Col2Im", {Ints("image", {4, 4}), Ints("block", {2, 2})});
     }},
    {"RegionsOfInterest",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node =
           BadOf(g, {1, 1, 4, 4}, "RoiAlign", {Floats("rois", {0, 4}, {}), Ints("batch", {})});
       AddIntAttribute(node, "output_height", 1 << 30);
       AddIntAttribute(node, "output_width", 1 << 30);
     }},
    {"BoxesOfManyImages",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {1 << 24, 0, 4}, "NonMaxSuppression", {Floats("scores", {1 << 24, 1, 0}, {})});
     }},
    {"MatMul",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {0, kLong}, "MatMul", {Floats("w", {kLong, 0}, {})});
     }},
    {"MatMulOfManyMatrices",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {kLong, 0, 1}, "MatMul", {Floats("w", {1, 0}, {})});
     }},
    {"MatMulOfManyRows",
     [](ModelProto&, GraphProto& g) { BadOf(g, {kLong, 0}, "MatMul", {Floats("w", {0, 0}, {})}); }},
    {"Attention",
     [](ModelProto& m, GraphProto& g) {
       m.mutable_opset_import(0)->set_version(23);
       NodeProto* node = BadOf(g, {1 << 20, 1, 0, 8}, "Attention");
       node->add_input("x");
       node->add_input("x");
     }},
    {"Slice",
     [](ModelProto&, GraphProto& g) {
       BadOf(g, {0, kLong}, "Slice",
             {Ints("from", {1}), Ints("to", {kLong - 1}), Ints("axis", {1}), Ints("step", {3})});
     }},
    {"Relu", [](ModelProto&, GraphProto& g) { BadOf(g, {kLong, 0, kLong}, "Relu"); }},
};

INSTANTIATE_TEST_SUITE_P(All, EmptyGiantsTest, ::testing::ValuesIn(kEmptyGiants),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
