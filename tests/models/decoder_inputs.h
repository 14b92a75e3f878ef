// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_MODELS_DECODER_INPUTS_H_
#define ATTNRUN_TESTS_MODELS_DECODER_INPUTS_H_

#include <cctype>
#include <string>
#include <vector>

#include "attnrun/session.h"

namespace attnrun::testing {

// Decoders of the archive `tiny` with a cache.
inline constexpr const char* kDecoders[] = {
    "llama-past/sdpa-ts.onnx",      "llama-past/sdpa-dyn.onnx",     "llama-past/eager-dyn23.onnx",
    "llama-genai/eager-genai.onnx", "qwen3-genai/eager-genai.onnx", "qwen3-past/sdpa-ts.onnx",
    "gpt2-past/eager-dyn.onnx",     "gpt2-past/sdpa-ts.onnx"};

inline std::string LettersOf(std::string path) {
  std::erase_if(path, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return path;
}

inline std::vector<int64_t> Iota(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

// The inputs for positions [begin, end) of a text.
inline TensorMap InputsFor(const Session& session, int64_t begin, int64_t end) {
  std::vector<int64_t> ids;
  for (const int64_t position : Iota(begin, end)) ids.push_back(1 + position * 7 % 31);
  const std::vector<int64_t> mask(end, 1);
  TensorMap inputs;
  for (const ValueInfo& info : session.inputs()) {
    if (info.name == "input_ids") inputs[info.name] = *Tensor::Of<int64_t>({1, end - begin}, ids);
    if (info.name == "attention_mask") inputs[info.name] = *Tensor::Of<int64_t>({1, end}, mask);
    if (info.name == "position_ids") {
      inputs[info.name] = *Tensor::Of<int64_t>({1, end - begin}, Iota(begin, end));
    }
  }
  return inputs;
}

inline std::string BytesOf(const Tensor& tensor) {
  return {tensor.data<char>(), tensor.byte_size()};
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_MODELS_DECODER_INPUTS_H_
