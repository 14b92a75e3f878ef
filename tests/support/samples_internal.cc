// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> InternalSamples() {
  const AttributeMap int8 = {{"format", std::string("int8")}};
  const AttributeMap nbit = {{"format", std::string("nbit")},
                             {"K", int64_t{16}},
                             {"bits", int64_t{4}},
                             {"block_size", int64_t{16}}};
  const AttributeMap gate = {{"width", int64_t{4}}, {"gate", int64_t{0}}, {"up", int64_t{4}}};
  const AttributeMap columns = {{"head_size", int64_t{4}}, {"head_offsets", Ints{0, 5}}};
  AttributeMap norm = columns;
  norm["epsilon"] = 1e-6F;
  const AttributeMap folded = {{"q_layout", std::string("(b n:2) s h")},
                               {"k_layout", std::string("(b n:2) s h")},
                               {"v_layout", std::string("(b n:2) s h")}};
  const AttributeMap image = {{"activation", std::string("Relu")}, {"residual_first", int64_t{1}}};
  const AttributeMap depthwise = {{"group", int64_t{4}}, {"pads", Ints{1, 1}}};
  const Tensor q = F({2, 2, 3, 4});
  const Tensor k = F({2, 2, 5, 4});
  const Tensor v = F({1, 2, 5, 6});
  const Tensor ids = Make<int64_t>({2, 3}, {0, 1, 2, 3, -1, 0});
  const Tensor pairs =
      Make<int64_t>({3, 6}, {0, 1, 2, 3, 4, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 1, 2});
  const AttributeMap plain = {{"scales", std::vector<float>{0.5F}}, {"transposed", Ints{0}}};
  const AttributeMap turned = {{"scales", std::vector<float>{0.5F}}, {"transposed", Ints{1}}};
  const Tensor queries = Make<int64_t>({2, 3, 1}, {0, 1, 2, 7, 8, 9});
  return {
      {"attnrun::Linear", {F({2, 3, 4}), F({4, 5}), F({5}), F({3, 5})}},
      {"attnrun::Linear", {F({2, 3, 4}), F({5, 4}), None(), F({2, 1, 1})}, List("trans_w", {1})},
      {"attnrun::Linear", {F({2, 3, 4}), F({4, 5}), F({7}), None(), F({4, 2})}},
      {"attnrun::Linear",
       {Bytes({2, 3, 4}), SmallBytes({4, 5}), F({7}), F({3, 7}), F0(0.5F), Make<uint8_t>({}, {7}),
        F({5}), SmallBytes({5}), SmallBytes({4, 2}), F0(0.25F)},
       int8},
      {"attnrun::Linear",
       {F({2, 3, 16}), Bytes({5, 1, 8}), F({5}), F({2, 1, 5}), F({5, 1}), None()},
       nbit},
      {"attnrun::Conv", {F({2, 5, 6, 4}), F({3, 4, 3, 3}), F({3}), F({2, 3, 4, 3})}, image},
      {"attnrun::Conv", {F({2, 7, 4}), F({4, 1, 3}), None(), F({2, 7, 4})}, depthwise},
      {"attnrun::GatedActivation", {F({2, 3, 8})}, gate},
      {"attnrun::Experts",
       {F({2, 3, 4}), Make<int64_t>({2, 3, 1}, {0, 1, 1, 0, 0, 1}), F({2, 3, 1}), F({4, 6}), F({6}),
        F({6, 4}), None(), None(), None(), F({4, 6}), F({6}), F({6, 4})}},
      {"attnrun::Attention", {q, k, v, F({2, 1, 3, 5}), None(), F({2, 1, 1})}, {}, 2},
      {"attnrun::Attention", {q, k, v, F({3, 1})}, Int("causal", 1)},
      {"attnrun::Attention", {F({4, 3, 5}), F({4, 6, 5}), F({4, 6, 5})}, folded},
      {"attnrun::RotaryEmbedding", {F({2, 3, 10}), F({2, 3, 2}), F({2, 3, 2})}, columns},
      {"attnrun::RotaryEmbedding", {F({2, 3, 10}), F({5, 2}), F({5, 2}), I({1, 2, 4})}, columns},
      {"attnrun::HeadRmsNormalization", {F({2, 3, 10}), F({2, 4})}, norm},
      {"attnrun::QuantizeRows", {F({2, 3, 5})}},
      // Scales of 0.5 and 2.
      {"attnrun::DequantizeRows",
       {Make<int8_t>({2, 7}, {1, -2, 3, 0, 0, 0, 63, 4, 5, -6, 0, 0, 0, 64})}},
      {"attnrun::RelativePositions", {queries, I({0, 1, 2, 3})}},
      {"attnrun::RelativeToAbsolute", {F({2, 1, 7}), F({3, 1})}},
      {"attnrun::RelativeScores", {F({2, 3, 4}), F({5, 4}), pairs}, plain},
      {"attnrun::RelativeScores", {F({2, 3, 4}), F({5, 4}), pairs}, turned},
      {"attnrun::RelativeScores", {F({4, 3, 4}), F({2, 5, 4}), pairs}, plain},
      {"attnrun::TakeAlongAxis", {F({2, 3, 5}), Make<int64_t>({3, 2}, {0, 1, -1, 2, 4, 4})}},
      {"attnrun::EmbeddingSum", {F({5, 4}), ids, F({6, 4}), ids, F({3, 4})}},
      {"attnrun::EmbeddingSum", {F({5, 4}), ids, F({6, 4}), ids}},
      {"attnrun::DequantizeBnb4",
       {Make<uint8_t>({8}, {0, 18, 52, 86, 120, 154, 188, 222}), F({1})},
       {{"K", int64_t{5}},
        {"N", int64_t{3}},
        {"block_size", int64_t{16}},
        {"quant_type", int64_t{0}}}},
      {"attnrun::MaskedMean",
       {F({2, 3, 4}), MakeBool({2, 3}, {1, 1, 0, 1, 0, 0})},
       {{"min_count", 1e-9F}}},
      {"attnrun::AppendToCache", {F({2, 3, 2, 4}), F({2, 3, 3, 4}), I({2, 0}), I0(5)}},
      {"attnrun::AppendToCache", {F({2, 3, 2, 4}), F({2, 3, 3, 4}), I({2, 1}), I0(4), I({1, 0})}},
  };
}

}  // namespace attnrun::testing
