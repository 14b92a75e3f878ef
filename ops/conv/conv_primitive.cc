// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_primitive.h"

#include <array>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "ops/tensors/onednn.h"

namespace attnrun::ops {
namespace {

using dnnl::memory;
constexpr memory::data_type kFloat = memory::data_type::f32;

memory::dims WeightDims(const ConvPrimitiveShape& s) {
  if (s.groups == 1) return Joined({s.features, s.channels}, s.kernel);
  return Joined({s.groups, s.features / s.groups, s.channels / s.groups}, s.kernel);
}

dnnl::convolution_forward::primitive_desc Describe(const ConvPrimitiveShape& s,
                                                   const memory::desc& weights) {
  memory::dims dilations;
  for (const int64_t dilation : s.dilations) dilations.push_back(dilation - 1);
  dnnl::primitive_attr attributes = UserScratch();
  if (s.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const memory::desc bias =
      s.bias ? memory::desc({s.features}, kFloat, memory::format_tag::a) : memory::desc();
  const memory::dims none(s.input.size(), 0);
  return {OneDnnEngine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          ChannelsLast(s.channels, s.input),
          weights,
          bias,
          ChannelsLast(s.features, s.output),
          memory::dims(s.strides.begin(), s.strides.end()),
          dilations,
          none,
          none,
          attributes};
}

class OneDnnRunner final : public ConvPrimitive::Runner {
 public:
  OneDnnRunner(const dnnl::convolution_forward& primitive,
               const dnnl::convolution_forward::primitive_desc& desc, float* scratch)
      : primitive_(primitive),
        stream_(OneDnnEngine()),
        x_(desc.src_desc(), OneDnnEngine(), nullptr),
        weights_(desc.weights_desc(), OneDnnEngine(), nullptr),
        bias_(desc.bias_desc(), OneDnnEngine(), nullptr),
        y_(desc.dst_desc(), OneDnnEngine(), nullptr),
        scratch_(desc.scratchpad_desc(), OneDnnEngine(), scratch) {}

  void Run(const float* x, const float* packed, const float* bias, float* y) override {
    // oneDNN has no read-only memory.
    x_.set_data_handle(const_cast<float*>(x));
    weights_.set_data_handle(const_cast<float*>(packed));
    if (bias != nullptr) bias_.set_data_handle(const_cast<float*>(bias));
    y_.set_data_handle(y);
    const std::array<dnnl_exec_arg_t, 5> arguments = {{{DNNL_ARG_SRC, x_.get()},
                                                       {DNNL_ARG_WEIGHTS, weights_.get()},
                                                       {DNNL_ARG_DST, y_.get()},
                                                       {DNNL_ARG_SCRATCHPAD, scratch_.get()},
                                                       {DNNL_ARG_BIAS, bias_.get()}}};
    const int count = bias == nullptr ? 4 : 5;
    const OneThread one_thread;
    WithinMemory([&] {
      dnnl::error::wrap_c_api(
          dnnl_primitive_execute(primitive_.get(), stream_.get(), count, arguments.data()),
          "oneDNN could not execute a convolution");
    });
  }

 private:
  const dnnl::convolution_forward& primitive_;
  dnnl::stream stream_;
  memory x_;
  memory weights_;
  memory bias_;
  memory y_;
  memory scratch_;
};

class OneDnnConv final : public ConvPrimitive {
 public:
  OneDnnConv(const ConvPrimitiveShape& shape, dnnl::convolution_forward::primitive_desc desc)
      : plain_weights_(RowMajor(WeightDims(shape))), desc_(std::move(desc)), primitive_(desc_) {}

  memory::desc weights() const { return desc_.weights_desc(); }

  int64_t scratch_floats() const override { return WholeLines(desc_.scratchpad_desc()); }
  int64_t packed_floats() const override { return WholeLines(desc_.weights_desc()); }

  void Pack(const float* w, float* packed) const override {
    const OneThread one_thread;
    ExpectPrimitiveMemory();
    WithinMemory([&] {
      memory from(plain_weights_, OneDnnEngine(), const_cast<float*>(w));
      memory to(desc_.weights_desc(), OneDnnEngine(), packed);
      dnnl::stream stream(OneDnnEngine());
      dnnl::reorder(from, to).execute(stream, from, to);
    });
  }

  std::unique_ptr<Runner> MakeRunner(float* scratch) const override {
    return WithinMemory([&] { return std::make_unique<OneDnnRunner>(primitive_, desc_, scratch); });
  }

 private:
  const memory::desc plain_weights_;
  const dnnl::convolution_forward::primitive_desc desc_;
  const dnnl::convolution_forward primitive_;
};

}  // namespace

std::shared_ptr<const ConvPrimitive> ConvPrimitive::Make(const ConvPrimitiveShape& shape,
                                                         const ConvPrimitive* layout) {
  const OneThread one_thread;
  return MadeOrNull([&]() -> std::shared_ptr<const ConvPrimitive> {
    const memory::desc weights =
        layout != nullptr ? static_cast<const OneDnnConv*>(layout)->weights()
                          : memory::desc(WeightDims(shape), kFloat, memory::format_tag::any);
    dnnl::convolution_forward::primitive_desc desc = Describe(shape, weights);
    // oneDNN's reference code is thousands of times slower, and its GEMM on patches is slower than
    // ours.
    const std::string name = desc.impl_info_str();
    if (absl::StrContains(name, "ref") || absl::StrContains(name, "gemm")) return nullptr;
    return std::make_shared<OneDnnConv>(shape, std::move(desc));
  });
}

}  // namespace attnrun::ops
