// SPDX-License-Identifier: Apache-2.0
// Operators on random attributes, types and shapes: a kernel computes what the reference computes,
// and refuses what the reference refuses.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "fuzz/targets/node_mutator.h"
#include "fuzz/targets/target.h"
#include "ops/interface/registry.h"
#include "support/qualified_name.h"

namespace attnrun::testing {
namespace {

using Results = std::vector<Tensor>;

constexpr size_t kMostBytes = size_t{1} << 26;

// Memory for small tensors alone.
class SmallHeap final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    if (bytes > kMostBytes) return absl::ResourceExhaustedError("a tensor is too large");
    return Allocator::Heap().Allocate(bytes);
  }
};

// The node of a trial, ready to run on either engine.
class OneNode {
 public:
  static absl::StatusOr<OneNode> Make(const NodeTrial& trial) {
    OneNode one(trial);
    NodeSpec spec;
    const QualifiedName name(trial.node.op_type);
    spec.domain = name.domain;
    spec.op_type = name.op_type;
    spec.opset = trial.node.opset;
    spec.attributes = trial.node.attributes;
    for (size_t i = 0; i < one.inputs_.size(); ++i) {
      Value* value = nullptr;
      if (one.inputs_[i].defined()) {
        ATTNRUN_ASSIGN_OR_RETURN(
            value, one.graph_->AddInput(absl::StrCat("x", i), TypeOf(one.inputs_[i])));
      }
      spec.inputs.push_back(value);
    }
    std::vector<std::string> names;
    for (int i = 0; i < trial.node.num_outputs; ++i) names.push_back(absl::StrCat("y", i));
    ATTNRUN_ASSIGN_OR_RETURN(one.node_, one.graph_->AddNode(std::move(spec), names));
    ATTNRUN_ASSIGN_OR_RETURN(one.op_, ops::OpRegistry::Get().Create(*one.node_));
    return one;
  }

  bool is_random() const { return ops::TraitsOf(*node_).random; }

  absl::StatusOr<Results> Reference() const {
    SmallHeap memory;
    Results outputs(node_->outputs().size());
    ops::OpContext context(inputs_, absl::MakeSpan(outputs), memory);
    Interrupt interrupt(absl::Now() + absl::Seconds(2), nullptr);
    const InterruptScope scope(&interrupt);
    ATTNRUN_RETURN_IF_ERROR(op_->Reference(context));
    ATTNRUN_RETURN_IF_ERROR(interrupt.status());
    return outputs;
  }

  // kUnavailable if there is no kernel for these inputs.
  absl::StatusOr<Results> Kernel() const {
    SmallHeap memory;
    std::vector<Tensor> constants(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (trial_.constant[i]) constants[i] = inputs_[i];
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<ops::Kernel> kernel,
                             op_->MakeKernel({.constants = constants}));
    Results outputs(node_->outputs().size());
    ops::OpContext context(inputs_, absl::MakeSpan(outputs), memory);
    if (kernel == nullptr || !kernel->Accepts(context)) {
      return absl::UnavailableError("no kernel accepts these inputs");
    }
    Interrupt interrupt(absl::Now() + absl::Seconds(2), nullptr);
    const InterruptScope scope(&interrupt);
    ATTNRUN_RETURN_IF_ERROR(kernel->Run(context));
    ATTNRUN_RETURN_IF_ERROR(interrupt.status());
    return outputs;
  }

 private:
  explicit OneNode(const NodeTrial& trial)
      : trial_(trial), inputs_(trial.node.inputs), graph_(std::make_unique<Graph>()) {}

  const NodeTrial& trial_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<Graph> graph_;
  const Node* node_ = nullptr;
  std::unique_ptr<ops::Op> op_;
};

double LargestOf(const std::vector<double>& numbers) {
  double largest = 1;
  for (const double x : numbers) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
  return largest;
}

// Some roundings of the type, relative to the largest number. Coarse: tests of the operators hold
// tighter bounds; this one finds wrong elements.
double Tolerance(DataType type) {
  // The steps of a float of 8 or 4 bits are up to half the number.
  if (BitWidth(type) < 16) return 0.5;
  return BitWidth(type) == 16 ? 0.1 : 1e-3;
}

// The share of the tolerance by which results move if they are unstable: a kernel rounds more than
// some epsilons.
constexpr double kUnstable = 1.0 / 32;

// "" if equal up to a share of the tolerance.
std::string Difference(const Tensor& actual, const Tensor& expected, double share = 1) {
  if (!expected.defined() || !actual.defined() || expected.is_sequence()) return "";
  if (TypeAndShape(actual) != TypeAndShape(expected)) {
    return absl::StrCat(TypeAndShape(actual), " against ", TypeAndShape(expected));
  }
  const auto a = ToDoubles(actual.Dense().value());
  const auto b = ToDoubles(expected.Dense().value());
  if (!a.ok() || !b.ok()) return "";
  // Integers that are computed by rounding may be on either side.
  const double tolerance =
      IsFloatingPoint(expected.type()) ? share * Tolerance(expected.type()) * LargestOf(*b) : 1;
  // Where numbers outgrow floats, as a recurrence may, the kernel meets infinity before the
  // reference, and then the difference of two infinities.
  const bool overflows = LargestOf(*b) > 1e30;
  for (size_t i = 0; i < b->size(); ++i) {
    const double x = (*a)[i];
    const double y = (*b)[i];
    if (overflows && !std::isfinite(x)) continue;
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance) continue;
    return absl::StrCat("element ", i, " is ", x, " against ", y);
  }
  return "";
}

std::string Describe(const NodeTrial& trial) {
  std::string text = absl::StrCat(trial.node.op_type, " of opset ", trial.node.opset, " (");
  for (size_t i = 0; i < trial.node.inputs.size(); ++i) {
    const Tensor& input = trial.node.inputs[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", input.defined() ? TypeAndShape(input) : "none",
                    trial.constant[i] ? " constant" : "");
  }
  absl::StrAppend(&text, ")");
  for (const auto& [name, value] : trial.node.attributes) {
    absl::StrAppend(&text, " ", name, "=", ToString(value));
  }
  return text;
}

// The difference of the engines; "" if there is none that counts.
std::string Compare(const NodeTrial& trial, const absl::StatusOr<Results>& reference,
                    const absl::StatusOr<Results>& kernel) {
  const auto is_about_resources = [](const absl::Status& status) {
    return absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
  };
  if (is_about_resources(kernel.status()) || is_about_resources(reference.status())) return "";
  if (absl::IsUnavailable(kernel.status())) return "";
  if (reference.ok() != kernel.ok()) {
    return absl::StrCat("the reference: ", reference.status().ToString(),
                        "; the kernel: ", kernel.status().ToString());
  }
  if (!reference.ok() || !trial.tame) return "";
  for (size_t i = 0; i < reference->size(); ++i) {
    const std::string difference = Difference((*kernel)[i], (*reference)[i]);
    if (!difference.empty()) return absl::StrCat("output ", i, ": ", difference);
  }
  return "";
}

// The trial with float inputs moved by some epsilons, this way and that.
NodeTrial Moved(NodeTrial trial) {
  constexpr double kStep = 4 * std::numeric_limits<float>::epsilon();
  for (Tensor& input : trial.node.inputs) {
    if (input.type() != DataType::kFloat) continue;
    std::vector<double> numbers = ToDoubles(input).value();
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= i % 3 == 0 ? 1 - kStep : 1 + kStep;
    input = FromDoubles(DataType::kFloat, input.shape(), numbers).value();
  }
  return trial;
}

// True if the result is as sensitive to its inputs as a long recurrence may be: moving these by
// some epsilons moves it, too, by more than a rounding.
bool IsUnstable(const NodeTrial& trial, const Results& results) {
  const NodeTrial moved = Moved(trial);
  const absl::StatusOr<OneNode> node = OneNode::Make(moved);
  if (!node.ok()) return false;
  const absl::StatusOr<Results> others = node->Reference();
  if (!others.ok()) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!Difference((*others)[i], results[i], kUnstable).empty()) return true;
  }
  return false;
}

void Try(const NodeTrial& trial) {
  const absl::StatusOr<OneNode> node = OneNode::Make(trial);
  if (!node.ok()) return;
  const absl::StatusOr<Results> reference = node->Reference();
  const absl::StatusOr<Results> kernel = node->Kernel();
  if (node->is_random()) return;
  const std::string difference = Compare(trial, reference, kernel);
  if (difference.empty() || (reference.ok() && IsUnstable(trial, *reference))) return;
  Fail(absl::StrCat(Describe(trial), ": ", difference));
}

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attnrun::SetNumThreads(1);
  attnrun::testing::Choices choices({data, size});
  attnrun::testing::Try(attnrun::testing::MakeNodeTrial(choices));
  return 0;
}
