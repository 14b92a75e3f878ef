// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/dynamic_quantize_lstm.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/composite/reference_steps.h"
#include "ops/composite/step_node.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// Part `index` of a list that consists of `parts` equal ones.
template <typename T>
std::vector<T> PartOf(const std::vector<T>& list, size_t index, size_t parts) {
  const size_t size = list.size() / parts;
  return {list.begin() + index * size, list.begin() + (index + 1) * size};
}

// The states of one direction, and its hidden states of all steps, [T, 1, B, H].
struct States {
  Tensor h;
  Tensor c;
  Tensor all;
};

// Runs one direction, step by step.
class Runner {
 public:
  // `lengths`: int64 [B].
  Runner(ReferenceSteps& steps, const Tensor& x, const Tensor& lengths)
      : steps_(steps), x_(x), lengths_(lengths) {}

  absl::StatusOr<States> Run(int64_t direction, bool reverse, const AttributeMap& attributes) {
    using L = DynamicQuantizeLstm;
    const Tensor w = Weight(L::kW, L::kWScale, L::kWZeroPoint, direction);
    const Tensor r = Weight(L::kR, L::kRScale, L::kRZeroPoint, direction);
    const Tensor bias = PartOfInput(L::kBias, direction);
    const Tensor peepholes = PartOfInput(L::kPeepholes, direction);
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor zeros, Zeros(r));
    States states = {PartOfInput(L::kInitialH, direction), PartOfInput(L::kInitialC, direction),
                     Tensor()};
    if (!states.h.defined()) states.h = zeros;
    if (!states.c.defined()) states.c = zeros;
    const Tensor x = Rounded(reverse ? Reversed(x_) : x_);
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < x_.dim(0) && !Interrupted(); ++i) {
      const Tensor step = steps_.Op("Gather", {x, steps_.Ints({i})});
      // Zeros for sequences that ended before the last step.
      const Tensor before = i == 0 ? states.h : rows.back();
      const std::vector<Tensor> next =
          steps_.Ops("LSTM", 3, {step, w, r, bias, Tensor(), Rounded(before), states.c, peepholes},
                     attributes);
      const Tensor live = Live(i);
      rows.push_back(steps_.Op("Where", {live, next[1], zeros}));
      states.h = steps_.Op("Where", {live, next[1], states.h});
      states.c = steps_.Op("Where", {live, next[2], states.c});
    }
    const Tensor all = steps_.Op("Concat", rows, {{"axis", int64_t{0}}});
    states.all = steps_.Op("Unsqueeze", {reverse ? Reversed(all) : all, steps_.Ints({1})});
    return states;
  }

 private:
  // x quantized to 8 bits and back.
  Tensor Rounded(const Tensor& x) { return steps_.Op("DequantizeLinear", Quantized(x)); }
  std::vector<Tensor> Quantized(const Tensor& x) {
    return steps_.Ops("DynamicQuantizeLinear", 3, {x});
  }

  Tensor PartOfInput(int i, int64_t direction) {
    Tensor input = steps_.Input(i);
    if (!input.defined()) return input;
    return steps_.Op("Gather", {input, steps_.Ints({direction})});
  }

  // The dequantized weight of one direction, transposed: [1, 4*H, I].
  Tensor Weight(int i, int scale, int zero_point, int64_t direction) {
    const auto part = [&](int input) {
      return steps_.Op("Squeeze", {PartOfInput(input, direction), steps_.Ints({0})});
    };
    const Tensor numbers = steps_.Op("DequantizeLinear", {part(i), part(scale), part(zero_point)});
    return steps_.Op("Unsqueeze", {steps_.Op("Transpose", {numbers}), steps_.Ints({0})});
  }

  // Zeros [1, B, H] for R [1, 4*H, H].
  absl::StatusOr<Tensor> Zeros(const Tensor& r) {
    const int64_t hidden = r.rank() == 3 ? r.dim(2) : 0;
    const int64_t count = x_.dim(1) * hidden;
    return FromDoubles(DataType::kFloat, {1, x_.dim(1), hidden}, std::vector<double>(count));
  }

  // Reverses the steps of every sequence up to its length.
  Tensor Reversed(const Tensor& sequences) {
    return steps_.Op("ReverseSequence", {sequences, lengths_},
                     {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}});
  }

  // True for the sequences that have step i: bool [B, 1].
  Tensor Live(int64_t i) {
    return steps_.Op("Unsqueeze",
                     {steps_.Op("Less", {steps_.Ints({i}), lengths_}), steps_.Ints({1})});
  }

  ReferenceSteps& steps_;
  const Tensor x_;
  const Tensor lengths_;
};

// The number of steps of every sample.
absl::StatusOr<std::vector<int64_t>> ReadLengths(const OpContext& context) {
  const Tensor& x = context.input(DynamicQuantizeLstm::kX);
  if (!context.has_input(DynamicQuantizeLstm::kLengths)) {
    return std::vector<int64_t>(x.dim(1), x.dim(0));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> lengths,
                           ToInts(context.input(DynamicQuantizeLstm::kLengths)));
  const auto fits = [&](int64_t length) { return length >= 0 && length <= x.dim(0); };
  if (std::ssize(lengths) != x.dim(1) || !absl::c_all_of(lengths, fits)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence_lens must be ", x.dim(1), " numbers in [0,", x.dim(0), "]"));
  }
  return lengths;
}

}  // namespace

DynamicQuantizeLstm::DynamicQuantizeLstm(AttributeReader& attributes)
    : attributes_(ReadRecurrentAttributes(attributes, Cell::kLstm, status_)) {
  const size_t directions = attributes_.directions();
  const auto activations =
      attributes.Get<std::vector<std::string>>("activations").value_or(std::vector<std::string>());
  const auto alpha =
      attributes.Get<std::vector<float>>("activation_alpha").value_or(std::vector<float>());
  const auto beta =
      attributes.Get<std::vector<float>>("activation_beta").value_or(std::vector<float>());
  const AttributeMap both = PassedOn(attributes, {"clip", "hidden_size", "input_forget"});
  for (size_t i = 0; i < directions; ++i) {
    AttributeMap one = both;
    if (!activations.empty()) one["activations"] = PartOf(activations, i, directions);
    if (!alpha.empty()) one["activation_alpha"] = PartOf(alpha, i, directions);
    if (!beta.empty()) one["activation_beta"] = PartOf(beta, i, directions);
    of_directions_.push_back(std::move(one));
  }
}

absl::Status DynamicQuantizeLstm::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(status_);
  const Tensor& x = context.input(kX);
  if (x.type() != DataType::kFloat || x.rank() != 3 || x.dim(0) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected X float [T, B, I] with at least one step, but it is ", TypeAndShape(x)));
  }
  // Samples without elements take no memory, but their lengths do.
  ATTNRUN_RETURN_IF_ERROR(
      Tensor::Allocate(DataType::kInt64, {x.dim(1)}, context.allocator()).status());
  ReferenceSteps steps(context);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> all_lengths, ReadLengths(context));
  const Tensor lengths = steps.Ints(all_lengths);
  // Runs no step that no sequence has, but one, which checks all shapes. Y has zeros beyond them.
  const int64_t longest = absl::c_accumulate(all_lengths, int64_t{1},
                                             [](int64_t a, int64_t b) { return std::max(a, b); });
  const Tensor sequences = steps.Op("Slice", {x, steps.Ints({0}), steps.Ints({longest})});
  std::vector<Tensor> all;
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (int64_t d = 0; d < attributes_.directions(); ++d) {
    Runner runner(steps, sequences, lengths);
    ATTNRUN_ASSIGN_OR_RETURN(const States states,
                             runner.Run(d, attributes_.IsReverse(d), of_directions_[d]));
    all.push_back(states.all);
    h.push_back(states.h);
    c.push_back(states.c);
  }
  Tensor y = steps.Op("Concat", all, {{"axis", int64_t{1}}});
  const std::vector<int64_t> missing = {0, 0, 0, 0, x.dim(0) - longest, 0, 0, 0};
  if (longest < x.dim(0)) y = steps.Op("Pad", {y, steps.Ints(missing)});
  ATTNRUN_RETURN_IF_ERROR(steps.Give(std::move(y)));
  ATTNRUN_RETURN_IF_ERROR(steps.Give(steps.Op("Concat", h, {{"axis", int64_t{0}}}), 1));
  return steps.Give(steps.Op("Concat", c, {{"axis", int64_t{0}}}), 2);
}

void DynamicQuantizeLstm::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(kX).dims;
  const std::optional<Dims>& r = context.input(kR).dims;
  Dims y = UnknownDims(4);
  if (x.has_value() && x->size() == 3) y = {(*x)[0], y[1], (*x)[1], y[3]};
  y[1] = attributes_.directions();
  if (r.has_value() && r->size() == 3) y[3] = (*r)[1];
  context.SetOutput(0, {DataType::kFloat, y, std::nullopt});
  for (const int i : {1, 2}) {
    context.SetOutput(i, {DataType::kFloat, Dims{y[1], y[2], y[3]}, std::nullopt});
  }
}

}  // namespace attnrun::ops
