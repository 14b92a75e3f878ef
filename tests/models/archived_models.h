// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_MODELS_ARCHIVED_MODELS_H_
#define ATTNRUN_TESTS_MODELS_ARCHIVED_MODELS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "core/elements.h"
#include "nlohmann/json.hpp"
#include "tools/attnrun/inputs.h"
#include "tools/attnrun/npz.h"

// Runs the models of an archive in models/, unpacked to ATTNRUN_TEST_MODELS, and compares them with
// stored outputs.
namespace attnrun::testing {

struct Case {
  std::string inputs;
  std::string expected;
  // The largest allowed absolute difference: 1e-4 (float16: 2e-3) x max(1, largest expected
  // element).
  double tolerance;
};

struct Export {
  std::string file;
  std::vector<Case> cases;
  // The expected rewrites, of the export or else of its model; null if the manifest has none.
  nlohmann::json expect;
};

inline std::string InModels(const std::string& path) { return ATTNRUN_TEST_MODELS "/" + path; }

// The models of the archive that is unpacked to `folder`.
inline std::vector<Export> ReadManifest(const std::string& folder = ATTNRUN_TEST_MODELS) {
  std::ifstream file(folder + "/manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(file);
  std::vector<Export> exports;
  for (const auto& [name, model] : manifest.at("models").items()) {
    std::vector<Case> cases;
    for (const auto& one : model.at("cases")) {
      cases.push_back({one.at("inputs"), one.at("expected"), one.at("tolerance")});
    }
    const nlohmann::json expect = model.value("expect", nlohmann::json());
    for (const auto& one : model.at("exports")) {
      const bool baked = one.contains("only_case");  // The export runs only at one case's shapes.
      exports.push_back({one.at("file"),
                         baked ? std::vector<Case>{cases.at(one.at("only_case"))} : cases,
                         one.value("expect", expect)});
    }
  }
  return exports;
}

inline TensorMap ReadNpz(const std::string& path) {
  TensorMap tensors;
  const cli::NpzFile file = cli::NpzFile::Open(InModels(path)).value();
  for (const auto& [name, entry] : file.entries()) tensors[name] = file.Read(name).value();
  return tensors;
}

// The largest absolute difference; infinity if exactly one side is NaN.
inline double Difference(const Tensor& actual, const Tensor& expected) {
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

inline void CheckCase(const Session& session, const Case& one) {
  const auto outputs = session.Run(ReadNpz(one.inputs));
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

inline void CheckAllCases(const Export& model, Engine engine) {
  SessionOptions options;
  options.engine = engine;
  const auto session = Session::Load(InModels(model.file), options);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const Case& one : model.cases) CheckCase(*session, one);
}

// Runs the model on made-up inputs, as `attnrun MODEL` does: it must not fail, nor give only NaN.
inline void CheckMadeUpRun(const Export& model) {
  const std::string path = InModels(model.file);
  const auto session = Session::Load(path);
  ASSERT_TRUE(session.ok()) << session.status();
  cli::LazyFitter fitter(path);
  const auto inputs = cli::GatherInputs(session->inputs(), {}, fitter);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto outputs = session->Run(inputs->tensors);
  ASSERT_TRUE(outputs.ok()) << outputs.status() << "\n" << cli::MadeUpHint(*inputs);
  for (const auto& [name, tensor] : *outputs) {
    const std::vector<double> values = ToDoubles(tensor).value();
    const auto is_nan = [](double value) { return std::isnan(value); };
    EXPECT_FALSE(!values.empty() && std::all_of(values.begin(), values.end(), is_nan)) << name;
  }
}

inline std::string TestName(const ::testing::TestParamInfo<Export>& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_MODELS_ARCHIVED_MODELS_H_
