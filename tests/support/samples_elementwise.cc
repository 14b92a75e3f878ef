// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> IntegerSamples() {
  return {
      {"Add", {F({2, 1, 3}), F({4, 1})}},
      {"Add", {I({2, 3}), I({4})}},
      {"Sub", {I({2, 3}), I({4, 1})}},
      {"Mul", {I({2, 3}), I0(4)}},
      {"Div", {I({9, 8, 0}), I({3, 3, 3})}},
      {"Mod", {I({9, 8}), I({3, 5})}},
      {"Max", {I({9, 3}), I({3, 5})}},
      {"Min", {I({9, 3}), I({3, 5}), I({4})}},
      {"Neg", {I({9, -3})}},
      {"Abs", {I({9, -3})}},
      {"Equal", {I({9, 3, -1}), I({-1, 3, -1})}},
      {"Less", {I({9, 3, -1}), I({10, 3, 0})}},
      {"LessOrEqual", {I({9, 3, -1}), I({10, 3, -2})}},
      {"Greater", {I({9, 3, -1}), I({10, 3, -2})}},
      {"GreaterOrEqual", {I({9, 3, -1}), I({10, 3, -2})}},
      {"And", {MakeBool({2}, {1, 0}), MakeBool({2}, {1, 1})}},
      {"Or", {MakeBool({2}, {1, 0}), MakeBool({2}, {0, 0})}},
      {"Xor", {MakeBool({2}, {1, 0}), MakeBool({2}, {1, 1})}},
      {"Not", {MakeBool({2}, {1, 0})}},
      {"Where", {MakeBool({2}, {1, 0}), I({4, 5}), I({6})}},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kInt32))},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kBool))},
      {"Cast", {MakeBool({2}, {1, 0})}, Int("to", static_cast<int64_t>(DataType::kInt64))},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kFloat))},
      {"Clip", {F({3}), F({}), F({})}},
      {"Identity", {I({4, 5})}},
      {"Dropout", {F({3})}, {}, 2},
      {"Exp", {F({2, 3})}},
      {"Gelu", {F({2, 3})}},
      {"Pow", {F({2, 3}), F({1})}},
  };
}

std::vector<SampleNode> ElementwiseSamples() {
  const Tensor x = F({2, 3, 4});
  const Tensor column = F({3, 1});
  const Tensor words = Make<std::string>({2, 3}, {"1", "2", "3", "4", "5", "6"});
  const Tensor bits = MakeBool({2, 3}, {1, 0, 0, 1, 1, 0});
  const AttributeMap to_float = Int("to", static_cast<int64_t>(DataType::kFloat));
  const AttributeMap left = Words("direction", "LEFT");
  std::vector<SampleNode> samples = {
      {"StringConcat", {words, Make<std::string>({2, 1}, {"a", "b"})}},
      {"RegexFullMatch", {words}, Words("pattern", "[1-3]")},
      {"StringSplit", {words}, Words("delimiter", "2"), 2, 20, /*open=*/true},
      {"StringNormalizer",
       {Make<std::string>({2}, {"a", "B"})},
       Words("case_change_action", "UPPER"),
       1,
       20,
       /*open=*/true},
      {"TfIdfVectorizer",
       {Make<int64_t>({2, 3}, {1, 2, 1, 2, 2, 3})},
       {{"mode", std::string("TF")},
        {"max_skip_count", int64_t{0}},
        {"min_gram_length", int64_t{1}},
        {"max_gram_length", int64_t{1}},
        {"ngram_counts", Ints{0}},
        {"ngram_indexes", Ints{1, 0}},
        {"pool_int64s", Ints{1, 2}}}},
      {"NegativeLogLikelihoodLoss",
       {F({2, 3, 4}), Make<int64_t>({2, 4}, {0, 1, 2, 0, 2, 2, 1, 0}), F({3})},
       Words("reduction", "none"),
       1,
       22},
      {"SoftmaxCrossEntropyLoss", {F({2, 3}), I({0, 2})}, Words("reduction", "none"), 2},
      {"SoftmaxCrossEntropyLoss", {F({2, 3}), I({0, 2})}, Words("reduction", "sum")},
      {"Swish", {x}, {}, 1, 24},
      {"SwiGLU", {x, F({2, 3, 4})}, {}, 1, 28},
      {"BitCast", {Int32({2, 3}, {1, 2, 3, 4, 5, 6})}, to_float, 1, 26},
      {"Cast", {words}, to_float},
      {"CastLike", {x, Make<int64_t>({5, 1, 1}, {1, 2, 3, 4, 5})}},
      {"Identity", {words}},
      {"Dropout", {x}, {}, 2},
      {"Not", {bits}},
      {"BitwiseNot", {Bytes({2, 3})}},
      {"Clip", {x, F0(-0.5F), F0(0.5F)}},
      {"Clip", {x}, {{"min", -0.5F}, {"max", 0.5F}}, 1, 7},
      {"Where", {bits, F({2, 1}), F({3})}},
      {"PRelu", {x, column}},
      {"Sum", {x, column, F({4})}},
      {"Mean", {x, column, F({2, 1, 1})}},
      {"Max", {x, column}},
      {"Mod", {x, column}, Int("fmod", 1)},
      {"BitShift", {Bytes({2, 3}), Make<uint8_t>({2, 1}, {1, 3})}, left},
      {"attnrun::FloorDiv", {I({9, -8, 7}), Make<int64_t>({2, 1}, {2, 5})}},
      {"com.microsoft::Gelu", {x}},
      {"com.microsoft::QuickGelu", {x}},
      {"com.microsoft::FastGelu", {x, F({4})}},
      {"com.microsoft::BiasGelu", {x, F({4})}},
  };
  for (const char* name :
       {"Abs",        "Acos",  "Acosh",          "Asin",     "Asinh",    "Atan",
        "Atanh",      "Ceil",  "Celu",           "Cos",      "Cosh",     "Elu",
        "Erf",        "Exp",   "Floor",          "Gelu",     "IsInf",    "HardSigmoid",
        "HardSwish",  "IsNaN", "LeakyRelu",      "Log",      "Mish",     "Neg",
        "Reciprocal", "Relu",  "Round",          "Selu",     "Shrink",   "Sigmoid",
        "Sign",       "Sin",   "Sinh",           "Softplus", "Softsign", "Sqrt",
        "Tan",        "Tanh",  "ThresholdedRelu"}) {
    samples.push_back({name, {x}});
  }
  for (const char* name : {"Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
                           "LessOrEqual", "Min", "Mul", "Pow", "Sub"}) {
    samples.push_back({name, {column, x}});
  }
  for (const char* name : {"And", "Or", "Xor"}) {
    samples.push_back({name, {bits, MakeBool({2, 1}, {1, 0})}});
  }
  for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    samples.push_back({name, {Bytes({2, 1, 3}), Bytes({4, 1})}});
  }
  return samples;
}

}  // namespace attnrun::testing
