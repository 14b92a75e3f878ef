#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "core/elements.h"
#include "nlohmann/json.hpp"
#include "tools/attnrun/npz.h"

// Every export in models/tiny.tar.xz, on every engine, against what PyTorch computed.
namespace attnrun {
namespace {

struct Case {
  std::string inputs;
  std::string expected;
  // Largest absolute difference allowed: 1e-4 (float16: 2e-3) x max(1, largest expected element).
  double tolerance;
};

struct Export {
  std::string file;
  std::vector<Case> cases;
};

std::string InModels(const std::string& path) { return ATTNRUN_TEST_MODELS "/" + path; }

std::vector<Export> ReadManifest() {
  std::ifstream file(InModels("manifest.json"));
  const nlohmann::json manifest = nlohmann::json::parse(file);
  std::vector<Export> exports;
  for (const auto& [name, model] : manifest.at("models").items()) {
    std::vector<Case> cases;
    for (const auto& one : model.at("cases")) {
      cases.push_back({one.at("inputs"), one.at("expected"), one.at("tolerance")});
    }
    for (const auto& one : model.at("exports")) exports.push_back({one.at("file"), cases});
  }
  return exports;
}

TensorMap ReadNpz(const std::string& path) {
  TensorMap tensors;
  const cli::NpzFile file = cli::NpzFile::Open(InModels(path)).value();
  for (const auto& [name, entry] : file.entries()) tensors[name] = file.Read(name).value();
  return tensors;
}

// The largest absolute difference; infinity where one side is NaN and the other is not.
double Difference(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = ToDoubles(actual).value();
  const std::vector<double> b = ToDoubles(expected).value();
  double largest = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::fabs(a[i] - b[i]);
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  return largest;
}

class TinyModels : public ::testing::TestWithParam<Export> {
 protected:
  static void CheckAllCases(Engine engine) {
    SessionOptions options;
    options.engine = engine;
    const auto session = Session::Load(InModels(GetParam().file), options);
    ASSERT_TRUE(session.ok()) << session.status();
    for (const Case& one : GetParam().cases) {
      const auto outputs = session->Run(ReadNpz(one.inputs));
      ASSERT_TRUE(outputs.ok()) << one.inputs << ": " << outputs.status();
      const TensorMap expected = ReadNpz(one.expected);
      ASSERT_FALSE(expected.empty());
      for (const auto& [name, tensor] : expected) {
        ASSERT_TRUE(outputs->contains(name)) << name;
        ASSERT_EQ(TypeAndShape(outputs->at(name)), TypeAndShape(tensor)) << name;
        EXPECT_LE(Difference(outputs->at(name), tensor), one.tolerance)
            << one.inputs << ", output " << name;
      }
    }
  }
};

TEST_P(TinyModels, OptimizedAgreesWithPyTorch) { CheckAllCases(Engine::kOptimized); }
TEST_P(TinyModels, KernelsAloneAgreeWithPyTorch) { CheckAllCases(Engine::kUnoptimized); }
TEST_P(TinyModels, ReferenceAgreesWithPyTorch) { CheckAllCases(Engine::kReference); }

std::string TestName(const ::testing::TestParamInfo<Export>& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Archive, TinyModels, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun
