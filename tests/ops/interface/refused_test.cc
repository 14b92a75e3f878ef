// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/refused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/interface/registry.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* domain;
  const char* name;
  const char* reason;
};

TEST(RefusedTest, OperatorsThatAreLeftOutSayWhy) {
  const Case cases[] = {{"com.microsoft", "BeamSearch", "choose the tokens in your own loop"},
                        {"com.microsoft", "WhisperBeamSearch", "choose the tokens"},
                        {"com.microsoft", "SoftmaxGrad", "only runs trained models"},
                        {"ai.onnx.preview.training", "Adam", "only runs trained models"},
                        {"ai.onnx.ml", "TreeEnsemble", "ONNX Runtime or scikit-learn"},
                        {"", "ImageDecoder", "decode the image before the run"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const absl::Status status = OpTester(c.name, 1, c.domain).Reference().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), HasSubstr(" is not run: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.reason));
  }
}

TEST(RefusedTest, OthersAreUnknown) {
  EXPECT_EQ(ops::WhyRefused("", "Adam"), "");
  EXPECT_EQ(ops::WhyRefused("com.microsoft", "Attention"), "");
  EXPECT_THAT(std::string(OpTester("Adam").Reference().status().message()),
              HasSubstr("is unknown"));
}

TEST(RefusedTest, NoOperatorIsRefused) {
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    EXPECT_EQ(ops::WhyRefused(def->domain, def->name), "") << def->name;
  }
}

}  // namespace
}  // namespace attnrun::testing
