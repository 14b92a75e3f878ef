// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

std::vector<std::string> DefaultFunctions(Cell cell) {
  if (cell == Cell::kRnn) return {"Tanh"};
  if (cell == Cell::kGru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

// ONNX's schemas compare names without regard to case.
struct KnownFunction {
  absl::string_view name;
  double alpha;
  double beta;
};
constexpr std::array<KnownFunction, 11> kFunctions = {{{"relu", 0, 0},
                                                       {"tanh", 0, 0},
                                                       {"sigmoid", 0, 0},
                                                       {"softsign", 0, 0},
                                                       {"softplus", 0, 0},
                                                       {"affine", 1, 0},
                                                       {"leakyrelu", 0.01, 0},
                                                       {"thresholdedrelu", 1, 0},
                                                       {"scaledtanh", 1, 1},
                                                       {"hardsigmoid", 0.2, 0.5},
                                                       {"elu", 1, 0}}};

}  // namespace

Recurrent::Recurrent(AttributeReader& attributes, Cell cell) {
  attributes_.cell = cell;
  attributes_.hidden_size = attributes.Int("hidden_size", -1);
  attributes_.clip = attributes.Float("clip", 0);
  if (attributes.version() >= 14) attributes_.batch_first = attributes.Int("layout", 0) != 0;
  if (cell == Cell::kGru) {
    attributes_.linear_before_reset = attributes.Int("linear_before_reset", 0) != 0;
  }
  if (cell == Cell::kLstm) attributes_.input_forget = attributes.Int("input_forget", 0) != 0;
  ReadDirection(attributes);
  ReadFunctions(attributes);
}

void Recurrent::ReadDirection(AttributeReader& attributes) {
  const std::string direction = attributes.String("direction", "forward");
  attributes_.forward = direction != "reverse";
  attributes_.reverse = direction != "forward";
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "direction must be forward, reverse or bidirectional, but is ", Quoted(direction)));
  }
}

void Recurrent::ReadFunctions(AttributeReader& attributes) {
  const std::vector<std::string> defaults = DefaultFunctions(attributes_.cell);
  const size_t directions = attributes_.forward && attributes_.reverse ? 2 : 1;
  auto names = attributes.Get<std::vector<std::string>>("activations");
  const auto alphas = attributes.Get<std::vector<float>>("activation_alpha");
  const auto betas = attributes.Get<std::vector<float>>("activation_beta");
  if (!names.has_value()) {
    names.emplace();
    for (size_t i = 0; i < directions; ++i) {
      names->insert(names->end(), defaults.begin(), defaults.end());
    }
  }
  if (names->size() != directions * defaults.size()) {
    status_ = absl::InvalidArgumentError(absl::StrCat("expected ", directions * defaults.size(),
                                                      " activations, but found ", names->size()));
    return;
  }
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string name = absl::AsciiStrToLower((*names)[i]);
    const KnownFunction* known = nullptr;
    for (const KnownFunction& one : kFunctions) known = one.name == name ? &one : known;
    if (known == nullptr) {
      status_ =
          absl::UnimplementedError(absl::StrCat("activation ", Quoted((*names)[i]), " is unknown"));
      return;
    }
    const bool has_alpha = alphas.has_value() && i < alphas->size();
    const bool has_beta = betas.has_value() && i < betas->size();
    attributes_.functions.push_back(
        {name, has_alpha ? (*alphas)[i] : known->alpha, has_beta ? (*betas)[i] : known->beta});
  }
}

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
