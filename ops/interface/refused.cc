// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/refused.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace attnrun::ops {
namespace {

constexpr absl::string_view kSearches[] = {"BeamSearch", "GreedySearch", "Sampling",
                                           "WhisperBeamSearch"};

constexpr char kWhySearch[] =
    "it holds the whole loop that generates text, which attnrun leaves to its caller; export the "
    "decoder with its caches as inputs and outputs, and choose the tokens in your own loop";
constexpr char kWhyTraining[] = "it belongs to training, and attnrun only runs trained models";
constexpr char kWhyClassical[] =
    "attnrun does not run ai.onnx.ml, the operators of trees, linear models and feature tables; "
    "run that part of the pipeline with ONNX Runtime or scikit-learn";
constexpr char kWhyDecoder[] =
    "attnrun does not read image files; decode the image before the run, and give its pixels as an "
    "input";

}  // namespace

absl::string_view WhyRefused(absl::string_view domain, absl::string_view name) {
  if (domain == "ai.onnx.ml") return kWhyClassical;
  if (domain == "ai.onnx.preview.training" || domain == "ai.onnx.training") return kWhyTraining;
  if (domain.empty() && name == "ImageDecoder") return kWhyDecoder;
  if (domain.empty() && name == "Gradient") return kWhyTraining;
  if (domain != "com.microsoft") return "";
  if (absl::c_linear_search(kSearches, name)) return kWhySearch;
  return absl::EndsWith(name, "Grad") || absl::EndsWith(name, "Optimizer") ? kWhyTraining : "";
}

}  // namespace attnrun::ops
