// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/moe/moe_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

void ActivateRow(const Activation& activation, float* row, int64_t n) {
  ActivateTile(activation, {row, n, 1, n});
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/moe/experts.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(ActivateRow);

constexpr int64_t kElementsPerPiece = 8192;
// Inputs from 2 up to this one are the layers.
constexpr int kLayersEnd = 14;

Activation ActivationOf(const MoeAttributes& attributes) {
  switch (attributes.activation) {
    case ExpertActivation::kRelu:
      return {UnaryFunction::kRelu};
    case ExpertActivation::kGelu:
      return {UnaryFunction::kGeluTanh};
    case ExpertActivation::kSilu:
      return {UnaryFunction::kSwish, 1};
    case ExpertActivation::kSwiglu:
      return {UnaryFunction::kSwish, attributes.alpha};
    case ExpertActivation::kIdentity:
      break;
  }
  return {};
}

// A token that an expert works on.
struct Job {
  int64_t token;
  // Its place among the token's experts.
  int64_t rank;
  float weight;
};

// Sends the tokens of each expert through it together. Only experts that a token goes to are
// touched.
class MoeKernel final : public Kernel {
 public:
  MoeKernel(const Moe& op, ExpertLayers layers, std::vector<PackedExpert> experts)
      : op_(op), layers_(std::move(layers)), experts_(std::move(experts)) {}

  absl::string_view name() const override {
    return experts_[0].in.floats != nullptr ? GemmName(experts_[0].in.floats.get()) : "gemm n-bit";
  }
  Precision precision() const override { return GemmPrecision(experts_[0].in.floats.get()); }

  bool Accepts(const OpContext& context) const override {
    if (!IsFloatOrHalf(context.input(0).type())) return false;
    // Inputs that are computed were not there when the weights were packed.
    const absl::StatusOr<ExpertLayers> layers =
        op_.ReadLayers([&](int i) { return InputOrUndefined(context, i); });
    return layers.ok() && SameInputs(*layers);
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const MoeShape shape, op_.Resolve(context, layers_));
    ATTNRUN_ASSIGN_OR_RETURN(const auto routes, op_.ReadRoutes(context, shape));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, context.input(0).type(), x.shape()));
    std::vector<std::vector<Job>> jobs(shape.experts);
    for (int64_t token = 0; token < shape.tokens; ++token) {
      for (size_t i = 0; i < routes[token].size(); ++i) {
        const Route& route = routes[token][i];
        jobs[route.expert].push_back(
            {token, static_cast<int64_t>(i), static_cast<float>(route.weight)});
      }
    }
    const int64_t k = op_.attributes().k;
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor parts,
        Tensor::Allocate(DataType::kFloat, {shape.tokens * k, shape.hidden}, context.allocator()));
    for (int64_t i = 0; i < shape.experts && !Interrupted(); ++i) {
      if (jobs[i].empty()) continue;
      ATTNRUN_RETURN_IF_ERROR(RunExpert(experts_[i], jobs[i], shape, x.data<float>(),
                                        parts.mutable_data<float>(), context.allocator()));
    }
    AddParts(parts.data<float>(), k, shape, y.data());
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const int64_t rows = context.input(1).dim(0) * op_.attributes().k;
    return 2 * rows * layers_[1].n * layers_[1].k * (1 + experts_[0].in.n / layers_[1].k);
  }

 private:
  bool SameInputs(const ExpertLayers& layers) const {
    for (size_t i = 0; i < layers.size(); ++i) {
      const bool same = layers[i].weight.defined() == layers_[i].weight.defined() &&
                        layers[i].bias.defined() == layers_[i].bias.defined() &&
                        layers[i].zero_points.defined() == layers_[i].zero_points.defined();
      if (!same) return false;
    }
    return true;
  }

  absl::Status RunExpert(const PackedExpert& expert, const std::vector<Job>& jobs,
                         const MoeShape& shape, const float* x, float* parts,
                         Allocator& allocator) const {
    const auto rows = static_cast<int64_t>(jobs.size());
    const auto allocate = [&](int64_t width) {
      return Tensor::Allocate(DataType::kFloat, {rows, width}, allocator);
    };
    ATTNRUN_ASSIGN_OR_RETURN(Tensor gathered, allocate(shape.hidden));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor inner, allocate(expert.in.n));
    auto* in = gathered.mutable_data<float>();
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(x + jobs[i].token * shape.hidden, shape.hidden, in + i * shape.hidden);
    }
    expert.in.Apply(in, rows, shape.hidden, inner.mutable_data<float>());
    const bool gated = expert.in.n > shape.inner;
    Tensor product = inner;
    if (gated) {
      ATTNRUN_ASSIGN_OR_RETURN(product, allocate(shape.inner));
    }
    Combine(inner.mutable_data<float>(), expert.in.n, rows, shape.inner,
            product.mutable_data<float>());
    expert.out.Apply(product.data<float>(), rows, shape.inner, in);
    const int64_t k = op_.attributes().k;
    for (int64_t i = 0; i < rows; ++i) {
      float* part = parts + (jobs[i].token * k + jobs[i].rank) * shape.hidden;
      for (int64_t j = 0; j < shape.hidden; ++j)
        part[j] = jobs[i].weight * in[i * shape.hidden + j];
    }
    return absl::OkStatus();
  }

  // product [rows, inner] = f(the first `inner` columns) times the others of `in` [rows, width].
  void Combine(float* in, int64_t width, int64_t rows, int64_t inner, float* product) const {
    const MoeAttributes& attributes = op_.attributes();
    const Activation activation = ActivationOf(attributes);
    const bool swiglu = attributes.activation == ExpertActivation::kSwiglu;
    const std::optional<float> limit = swiglu ? attributes.limit : std::nullopt;
    const float beta = swiglu ? attributes.beta : 0;
    ParallelFor(rows, kElementsPerPiece / width + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* gate = in + row * width;
        if (limit.has_value()) {
          for (int64_t i = 0; i < inner; ++i) gate[i] = std::min(gate[i], *limit);
        }
        HWY_DYNAMIC_DISPATCH(ActivateRow)(activation, gate, inner);
        if (width == inner) continue;
        const float* factor = gate + inner;
        float* out = product + row * inner;
        if (limit.has_value()) {
          for (int64_t i = 0; i < inner; ++i) {
            out[i] = gate[i] * (std::min(std::max(factor[i], -*limit), *limit) + beta);
          }
        } else {
          for (int64_t i = 0; i < inner; ++i) out[i] = gate[i] * (factor[i] + beta);
        }
      }
    });
  }

  // y = the sum of the k parts of each token, in the order of its experts.
  static void AddParts(const float* parts, int64_t k, const MoeShape& shape, float* y) {
    const int64_t width = shape.hidden;
    ParallelFor(shape.tokens, kElementsPerPiece / (width * k) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) {
        const float* part = parts + token * k * width;
        float* out = y + token * width;
        std::copy_n(part, width, out);
        for (int64_t i = 1; i < k; ++i) {
          for (int64_t j = 0; j < width; ++j) out[j] += part[i * width + j];
        }
      }
    });
  }

  const Moe op_;
  const ExpertLayers layers_;
  const std::vector<PackedExpert> experts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Moe::MakeKernel(const KernelContext& context) const {
  std::vector<Tensor> tensors(kLayersEnd);
  const size_t end = std::min<size_t>(kLayersEnd, context.constants.size());
  for (size_t i = 2; i < end; ++i) {
    if (!context.constants[i].defined()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(tensors[i], context.constants[i].Dense());
  }
  absl::StatusOr<ExpertLayers> layers = ReadLayers([&](int i) { return tensors[i]; });
  // The run says what is wrong with them.
  if (!layers.ok()) return nullptr;
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<PackedExpert> experts,
                           PackExperts(attributes_, *layers, context));
  if (experts.empty()) return nullptr;
  return std::make_unique<MoeKernel>(*this, *std::move(layers), std::move(experts));
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
