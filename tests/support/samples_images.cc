// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> ImageSamples() {
  const AttributeMap halved = {{"strides", Ints{2}}, {"pads", Ints{1, 2}}};
  const AttributeMap same = {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}};
  const AttributeMap rounded_up = {
      {"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  const AttributeMap transposed = {{"strides", Ints{2}}, {"output_padding", Ints{1}}};
  const AttributeMap halved_kernel = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
  return {
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}},
      {"Conv", {F({2, 4, 9}), F({6, 2, 3})}, {{"group", int64_t{2}}, {"dilations", Ints{2}}}},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, halved},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, same},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, Words("auto_pad", "VALID")},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3}), F({6})}},
      {"Conv", {F({2, 4, 9}), F({4, 1, 3}), F({4})}, Int("group", 4)},
      {"ConvInteger", {Bytes({1, 1, 4, 4}), Bytes({1, 1, 2, 3})}},
      {"ConvInteger", {Bytes({2, 3, 5}), Bytes({4, 3, 2}), Make<uint8_t>({}, {3}), Bytes({4})}},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, transposed},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3}), F({3})}, same},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, Int("group", 2)},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, List("output_shape", {6})},
      {"MaxPool", {F({2, 4, 9})}, List("kernel_shape", {2}), 2},
      {"MaxPool", {F({2, 4, 10})}, rounded_up, 2},
      {"AveragePool", {F({2, 4, 9})}, List("kernel_shape", {3})},
      {"MaxPool", {F({2, 4, 9})}, List("kernel_shape", {2})},
      {"LpPool", {F({2, 4, 9})}, List("kernel_shape", {3})},
      {"GlobalAveragePool", {F({2, 4, 9})}},
      {"GlobalMaxPool", {F({2, 4, 9})}},
      {"GlobalLpPool", {F({2, 4, 9})}},
      {"Resize", {F({1, 2, 4}), None(), Make<float>({3}, {1, 1, 2.5F})}},
      {"Resize", {F({1, 2, 4}), None(), None(), I({1, 2, 6})}},
      {"Resize", {F({1, 2, 4}), None(), Make<float>({1}, {0.6F})}, List("axes", {-1})},
      {"Resize", {F({2, 3, 10}), None(), Make<float>({3}, {1, 1, 1.05F})}, Words("mode", "linear")},
      {"GridSample", {F({2, 3, 4, 5}), F({2, 6, 2, 2})}},
      {"GridSample", {F({2, 3, 4}), F({2, 5, 1})}, Words("mode", "cubic")},
      {"com.microsoft::GridSample", {F({2, 3, 4, 5}), F({2, 6, 2, 2})}, {}, 1, 1},
      {"AffineGrid", {F({2, 2, 3}), I({2, 1, 3, 4})}},
      {"RoiAlign", {F({2, 3, 5, 4}), F({2, 4}), I({1, 0})}, Int("output_width", 2)},
      {"MaxRoiPool",
       {F({2, 3, 5, 4}), Make<float>({2, 5}, {1, 0, 0, 3, 3, 0, 1, 1, 2, 4})},
       List("pooled_shape", {2, 1})},
      {"DeformConv", {F({2, 4, 5, 5}), F({6, 4, 3, 3}), F({2, 18, 3, 3}), F({6})}},
      {"Col2Im", {F({2, 6, 4}), I({5}), I({2})}},
      {"MaxUnpool", {F({1, 2, 2}), Make<int64_t>({1, 2, 2}, {0, 3, 5, 6})}, halved_kernel},
      {"CenterCropPad", {F({2, 3, 4}), I({5})}, List("axes", {1})},
      {"CenterCropPad", {F({2, 3}), I({3, 1})}},
      {"Det", {F({2, 3, 3})}},
      {"NonMaxSuppression",
       {F({1, 3, 4}), F({1, 2, 3}), I({2}), F0(0.5F)},
       {},
       1,
       20,
       /*open=*/true},
      {"Upsample", {F({1, 2, 4}), Make<float>({3}, {1, 1, 2})}, {}, 1, 9},
  };
}

std::vector<SampleNode> SignalSamples() {
  return {
      {"DFT", {F({2, 8, 1}), None(), I0(1)}},
      {"DFT", {F({2, 8, 1}), I0(6), I0(-2)}, Int("onesided", 1)},
      {"DFT", {F({2, 8, 1})}, Int("axis", 1), 1, 17},
      {"STFT", {F({2, 20, 1}), I0(3), None(), I0(8)}},
      {"STFT", {F({2, 20, 1}), I0(3), F({8})}, Int("onesided", 0)},
      {"STFT", {F({2, 20}), I0(3), F({8})}},
      {"DFT", {F({2, 3, 4, 2}), None(), I0(-2)}, Int("inverse", 1)},
      {"HannWindow", {I0(8)}},
      {"HammingWindow", {I0(8)}},
      {"BlackmanWindow", {I0(8)}},
      {"MelWeightMatrix", {I0(4), I0(16), I0(8000), Make<float>({}, {0}), Make<float>({}, {4000})}},
  };
}

}  // namespace attnrun::testing
