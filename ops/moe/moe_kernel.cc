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
  // `constant`: for each input, if it was there when the weights were packed.
  MoeKernel(std::unique_ptr<ExpertsOp> op, const MoeShape& sizes, std::vector<bool> constant,
            std::vector<PackedExpert> experts)
      : op_(std::move(op)),
        sizes_(sizes),
        constant_(std::move(constant)),
        experts_(std::move(experts)) {}

  absl::string_view name() const override {
    return experts_[0].in.floats != nullptr ? GemmName(experts_[0].in.floats.get()) : "gemm n-bit";
  }
  Precision precision() const override { return GemmPrecision(experts_[0].in.floats.get()); }

  bool Accepts(const OpContext& context) const override {
    if (!IsFloatOrHalf(context.input(0).type())) return false;
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (op_->IsOfLayer(i) && context.has_input(i) && !constant_[i]) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const MoeShape shape, op_->Resolve(context, sizes_));
    ATTNRUN_ASSIGN_OR_RETURN(const auto routes, op_->ReadRoutes(context, shape));
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
    const int64_t k = shape.k;
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor parts,
        Tensor::Allocate(DataType::kFloat, {shape.tokens * k, shape.hidden}, context.allocator()));
    for (int64_t i = 0; i < shape.experts && !Interrupted(); ++i) {
      if (jobs[i].empty()) continue;
      ATTNRUN_RETURN_IF_ERROR(RunExpert(experts_[i], jobs[i], shape, x.data<float>(),
                                        parts.mutable_data<float>(), context.allocator()));
    }
    if (k == 0) std::fill_n(y.data(), shape.tokens * shape.hidden, 0.0F);
    if (k > 0) AddParts(parts.data<float>(), k, shape, y.data());
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<MoeShape> shape = op_->Resolve(context, sizes_);
    if (!shape.ok()) return 0;
    return 2 * shape->tokens * shape->k * shape->hidden * (shape->inner + experts_[0].in.n);
  }

 private:
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
    const int64_t k = shape.k;
    for (int64_t i = 0; i < rows; ++i) {
      float* part = parts + (jobs[i].token * k + jobs[i].rank) * shape.hidden;
      for (int64_t j = 0; j < shape.hidden; ++j)
        part[j] = jobs[i].weight * in[i * shape.hidden + j];
    }
    return absl::OkStatus();
  }

  // product [rows, inner] = f(the first `inner` columns) times the others of `in` [rows, width].
  void Combine(float* in, int64_t width, int64_t rows, int64_t inner, float* product) const {
    const MoeAttributes& attributes = op_->attributes();
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

  const std::unique_ptr<ExpertsOp> op_;
  const MoeShape sizes_;
  const std::vector<bool> constant_;
  const std::vector<PackedExpert> experts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ExpertsOp::MakeKernel(const KernelContext& context) const {
  const auto count = static_cast<int>(context.constants.size());
  std::vector<bool> constant;
  std::vector<Tensor> tensors(count);
  for (int i = 0; i < count; ++i) {
    constant.push_back(context.constants[i].defined());
    if (!constant.back() || !IsOfLayer(i)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(tensors[i], context.constants[i].Dense());
  }
  const absl::StatusOr<std::vector<ExpertLayers>> layers =
      ReadExperts([&](int i) { return i < count ? tensors[i] : Tensor(); }, count);
  // The run says what is wrong with them.
  if (!layers.ok()) return nullptr;
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<PackedExpert> experts,
                           PackExperts(attributes_, *layers, context));
  if (experts.empty()) return nullptr;
  return std::make_unique<MoeKernel>(Copy(), SizesOf(*layers), std::move(constant),
                                     std::move(experts));
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
