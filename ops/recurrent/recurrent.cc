// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent.h"

#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

using Function = RecurrentAttributes::Function;

// ONNX's schemas compare names without regard to case.
struct NamedFunction {
  absl::string_view name;
  Function function;
};
constexpr std::array<NamedFunction, 11> kFunctions = {
    {{"relu", {GateFunction::kRelu}},
     {"tanh", {GateFunction::kTanh}},
     {"sigmoid", {GateFunction::kSigmoid}},
     {"softsign", {GateFunction::kSoftsign}},
     {"softplus", {GateFunction::kSoftplus}},
     {"affine", {GateFunction::kAffine, 1}},
     {"leakyrelu", {GateFunction::kLeakyRelu, 0.01F}},
     {"thresholdedrelu", {GateFunction::kThresholdedRelu, 1}},
     {"scaledtanh", {GateFunction::kScaledTanh, 1, 1}},
     {"hardsigmoid", {GateFunction::kHardSigmoid, 0.2F, 0.5F}},
     {"elu", {GateFunction::kElu, 1}}}};

std::vector<std::string> DefaultFunctions(Cell cell) {
  if (cell == Cell::kRnn) return {"Tanh"};
  if (cell == Cell::kGru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

absl::StatusOr<Function> FunctionOf(const std::string& name) {
  for (const NamedFunction& one : kFunctions) {
    if (one.name == absl::AsciiStrToLower(name)) return one.function;
  }
  return absl::UnimplementedError(absl::StrCat("activation ", Quoted(name), " is unknown"));
}

absl::Status ReadDirection(AttributeReader& attributes, RecurrentAttributes& read) {
  const std::string direction = attributes.String("direction", "forward");
  read.forward = direction != "reverse";
  read.reverse = direction != "forward";
  if (direction == "forward" || direction == "reverse" || direction == "bidirectional") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "direction must be forward, reverse or bidirectional, but is ", Quoted(direction)));
}

absl::Status ReadFunctions(AttributeReader& attributes, RecurrentAttributes& read) {
  const std::vector<std::string> defaults = DefaultFunctions(read.cell);
  auto names = attributes.Get<std::vector<std::string>>("activations");
  const auto alphas = attributes.Get<std::vector<float>>("activation_alpha");
  const auto betas = attributes.Get<std::vector<float>>("activation_beta");
  if (!names.has_value()) {
    names.emplace();
    for (int64_t d = 0; d < read.directions(); ++d) {
      names->insert(names->end(), defaults.begin(), defaults.end());
    }
  }
  const size_t expected = read.directions() * defaults.size();
  if (names->size() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", expected, " activations, but found ", names->size()));
  }
  for (size_t i = 0; i < names->size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Function function, FunctionOf((*names)[i]));
    if (alphas.has_value() && i < alphas->size()) function.alpha = (*alphas)[i];
    if (betas.has_value() && i < betas->size()) function.beta = (*betas)[i];
    read.functions.push_back(function);
  }
  return absl::OkStatus();
}

}  // namespace

RecurrentAttributes ReadRecurrentAttributes(AttributeReader& attributes, Cell cell,
                                            absl::Status& status) {
  RecurrentAttributes read;
  read.cell = cell;
  read.hidden_size = attributes.Int("hidden_size", -1);
  read.clip = attributes.Float("clip", 0);
  if (attributes.version() >= 14) read.batch_first = attributes.Int("layout", 0) != 0;
  if (cell == Cell::kGru) {
    read.linear_before_reset = attributes.Int("linear_before_reset", 0) != 0;
  }
  if (cell == Cell::kLstm) read.input_forget = attributes.Int("input_forget", 0) != 0;
  status = ReadDirection(attributes, read);
  status.Update(ReadFunctions(attributes, read));
  return read;
}

Recurrent::Recurrent(AttributeReader& attributes, Cell cell)
    : attributes_(ReadRecurrentAttributes(attributes, cell, status_)) {}

void RegisterRecurrent(OpRegistry& registry) {
  const auto make = [](Cell cell) {
    return [cell](AttributeReader& attributes) {
      return std::make_unique<Recurrent>(attributes, cell);
    };
  };
  registry.Register({"", "RNN", {7, 14, 22}, {3, 6}, {0, 2}, make(Cell::kRnn)});
  registry.Register({"", "GRU", {7, 14, 22}, {3, 6}, {0, 2}, make(Cell::kGru)});
  registry.Register({"", "LSTM", {7, 14, 22}, {3, 8}, {0, 3}, make(Cell::kLstm)});
}

}  // namespace attnrun::ops
