// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attnrun/session.h"
#include "core/elements.h"
#include "core/status.h"
#include "nlohmann/json.hpp"

// Runs the node cases of the ONNX standard on both engines. A case in ledger.txt must fail and
// every other case must pass, so the ledger can only shrink.
namespace attnrun {
namespace {

struct NodeCase {
  std::string name;
  double rtol;
  double atol;
};

std::vector<NodeCase> ReadCases() {
  std::ifstream file(ATTNRUN_NODE_CASES "/cases.json");
  const nlohmann::json manifest = nlohmann::json::parse(file);
  std::vector<NodeCase> cases;
  for (const auto& one : manifest.at("cases")) {
    cases.push_back({one.at("name"), one.at("rtol"), one.at("atol")});
  }
  return cases;
}

// The listed cases of one engine and their reasons. A line in brackets opens a group and states its
// reason; the other lines are "case" or "case engine".
std::map<std::string, std::string> ReadLedger(const std::string& engine) {
  std::ifstream file(ATTNRUN_NODE_LEDGER);
  std::map<std::string, std::string> ledger;
  std::string reason;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      reason = line.substr(1, line.size() - 2);
      continue;
    }
    const size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) != engine) continue;
    EXPECT_FALSE(reason.empty()) << line << " stands in the ledger without a reason";
    ledger[line.substr(0, space)] = reason;
  }
  return ledger;
}

absl::StatusOr<TensorMap> ReadTensors(const std::string& folder, const std::string& kind,
                                      const std::vector<ValueInfo>& infos) {
  TensorMap tensors;
  for (size_t i = 0; i < infos.size(); ++i) {
    const std::string path = absl::StrCat(folder, "/test_data_set_0/", kind, "_", i, ".pb");
    ATTNRUN_ASSIGN_OR_RETURN(tensors[infos[i].name], LoadValueProto(path, infos[i]));
  }
  return tensors;
}

absl::Status Unequal(const std::string& name, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("output '", name, "': ", what));
}

absl::Status CompareNumbers(const std::string& name, const Tensor& actual, const Tensor& expected,
                            const NodeCase& one) {
  ATTNRUN_ASSIGN_OR_RETURN(const auto a, ToComplex(actual));
  ATTNRUN_ASSIGN_OR_RETURN(const auto b, ToComplex(expected));
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i].real()) && std::isnan(b[i].real()))) continue;
    const bool close = std::abs(a[i] - b[i]) <= one.atol + one.rtol * std::abs(b[i]);
    if (!close) {
      return Unequal(name,
                     absl::StrCat("element ", i, " is ", a[i].real(), " instead of ", b[i].real()));
    }
  }
  return absl::OkStatus();
}

absl::Status Compare(const std::string& name, const Tensor& actual, const Tensor& expected,
                     const NodeCase& one) {
  if (TypeAndShape(actual) != TypeAndShape(expected)) {
    return Unequal(
        name, absl::StrCat("is ", TypeAndShape(actual), " instead of ", TypeAndShape(expected)));
  }
  if (!expected.defined()) return absl::OkStatus();
  if (expected.is_sequence()) {
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      ATTNRUN_RETURN_IF_ERROR(
          Compare(absl::StrCat(name, "/", i), actual.tensors()[i], expected.tensors()[i], one));
    }
    return absl::OkStatus();
  }
  if (expected.type() != DataType::kString) return CompareNumbers(name, actual, expected, one);
  ATTNRUN_ASSIGN_OR_RETURN(const auto a, ToStrings(actual));
  ATTNRUN_ASSIGN_OR_RETURN(const auto b, ToStrings(expected));
  return a == b ? absl::OkStatus() : Unequal(name, "the strings differ");
}

absl::Status RunCase(const NodeCase& one, Engine engine) {
  const std::string folder = absl::StrCat(ATTNRUN_NODE_CASES "/", one.name);
  SessionOptions options;
  options.engine = engine;
  options.threads = 1;
  ATTNRUN_ASSIGN_OR_RETURN(const Session session,
                           Session::Load(absl::StrCat(folder, "/model.onnx"), options));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs, ReadTensors(folder, "input", session.inputs()));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap expected,
                           ReadTensors(folder, "output", session.outputs()));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap outputs, session.Run(inputs));
  for (const auto& [name, tensor] : expected) {
    ATTNRUN_RETURN_IF_ERROR(Compare(name, outputs.at(name), tensor, one));
  }
  return absl::OkStatus();
}

void CheckAgainstLedger(Engine engine, const std::string& engine_name) {
  const std::map<std::string, std::string> ledger = ReadLedger(engine_name);
  const std::vector<NodeCase> cases = ReadCases();
  std::set<std::string> names;
  size_t passed = 0;
  for (const NodeCase& one : cases) {
    names.insert(one.name);
    const absl::Status status = RunCase(one, engine);
    passed += status.ok() ? 1 : 0;
    if (status.ok()) {
      EXPECT_FALSE(ledger.contains(one.name)) << one.name << " passes; take it out of the ledger";
    } else {
      EXPECT_TRUE(ledger.contains(one.name)) << one.name << " fails: " << status.message();
    }
  }
  for (const auto& [name, reason] : ledger) {
    EXPECT_TRUE(names.contains(name)) << name << " of the ledger is no case";
  }
  std::cout << engine_name << ": " << passed << " of " << cases.size() << " node cases pass\n";
}

TEST(NodeCases, Optimized) { CheckAgainstLedger(Engine::kOptimized, "optimized"); }
TEST(NodeCases, Reference) { CheckAgainstLedger(Engine::kReference, "reference"); }

}  // namespace
}  // namespace attnrun
