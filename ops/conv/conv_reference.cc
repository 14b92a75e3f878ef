// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/conv/channels_last_conv.h"
#include "ops/conv/conv.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"

namespace attnrun::ops {
namespace {

// Checks that all inputs have the same floating-point type.
absl::Status CheckFloats(const OpContext& context) {
  const DataType type = context.input(0).type();
  const bool fits = type == DataType::kFloat || type == DataType::kDouble ||
                    type == DataType::kFloat16 || type == DataType::kBfloat16;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (fits && (!context.has_input(i) || context.input(i).type() == type)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "expected inputs of one floating-point type, but input 0 is ",
        TypeAndShape(context.input(0)), " and input ", i, " is ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

// The correlation of x with w, plus the bias (empty: none).
template <typename T>
absl::StatusOr<Tensor> Convolve(const ConvShape& shape, const std::vector<T>& x,
                                const std::vector<T>& w, const std::vector<T>& bias,
                                Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DataTypeOf<T>(), shape.output, allocator));
  auto* out = y.mutable_data<T>();
  const int64_t channels = shape.c / shape.group;
  const int64_t features = shape.m / shape.group;
  for (int64_t n = 0; n < shape.n; ++n) {
    for (int64_t m = 0; m < shape.m; ++m) {
      const T* image = x.data() + (n * shape.c + m / features * channels) * shape.input_size;
      const T* kernel = w.data() + m * channels * shape.kernel_size;
      ForEachPosition(shape.window, [&](const Shape& position) {
        T sum = 0;
        for (int64_t c = 0; c < channels; ++c) {
          ForEachTap(shape.window, position, [&](int64_t tap, int64_t offset) {
            sum += image[c * shape.input_size + offset] * kernel[c * shape.kernel_size + tap];
          });
        }
        *out++ = bias.empty() ? sum : sum + bias[m];
      });
    }
  }
  return y;
}

// x minus its zero point: a scalar, or one per channel.
absl::StatusOr<std::vector<uint64_t>> Centred(const Tensor& x, const Tensor* zero_point,
                                              absl::string_view name, int64_t channels) {
  if (x.type() != DataType::kInt8 && x.type() != DataType::kUint8) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", name, " of int8 or uint8, but found ", TypeAndShape(x)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(x));
  std::vector<uint64_t> centred(values.begin(), values.end());
  if (zero_point == nullptr) return centred;
  const int64_t count = zero_point->num_elements();
  if (zero_point->type() != x.type() || zero_point->rank() > 1 ||
      (count != 1 && count != channels)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a zero point of ", name, " that is ", Name(x.type()), " and holds 1 or ",
        channels, " elements, but found ", TypeAndShape(*zero_point)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> zeros, ToInts(*zero_point));
  const size_t period = centred.size() / std::max<size_t>(zeros.size(), 1);
  for (size_t i = 0; i < centred.size(); ++i) centred[i] -= zeros[i / period];
  return centred;
}

}  // namespace

absl::Status Conv::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor* bias = OptionalInput(context, 2);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(context));
  ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape,
                           ResolveConv(attributes_, x, context.input(1), bias));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> kernel, ToDoubles(context.input(1)));
  std::vector<double> start;
  if (bias != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(start, ToDoubles(*bias));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor sums,
                           Convolve(shape, values, kernel, start, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y,
      FromDoubles(x.type(), shape.output, absl::MakeSpan(sums.data<double>(), sums.num_elements()),
                  context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status ChannelsLastConv::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(context));
  ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(context.input(kX)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> w, ToDoubles(context.input(kWeight)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, OptionalDoubles(context, kBias));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> residual, OptionalDoubles(context, kResidual));
  const int64_t channels = shape.c / shape.group;
  std::vector<double> y;
  const auto element = [&](int64_t n, const Shape& position, int64_t m) {
    const int64_t first = m / (shape.m / shape.group) * channels;
    double sum = bias.empty() ? 0 : bias[m];
    ForEachTap(shape.window, position, [&](int64_t tap, int64_t offset) {
      for (int64_t c = 0; c < channels; ++c) {
        sum += x[(n * shape.input_size + offset) * shape.c + first + c] *
               w[(m * channels + c) * shape.kernel_size + tap];
      }
    });
    const double term = residual.empty() ? 0 : residual[y.size()];
    return residual_first_ ? Activate(activation_, sum + term) : Activate(activation_, sum) + term;
  };
  for (int64_t n = 0; n < shape.n; ++n) {
    ForEachPosition(shape.window, [&](const Shape& position) {
      for (int64_t m = 0; m < shape.m; ++m) y.push_back(element(n, position, m));
    });
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, FromDoubles(context.input(kX).type(), OutputOf(shape), y,
                                                      context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

absl::Status ConvInteger::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, ResolveConv(attributes_, x, w, nullptr));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<uint64_t> values,
                           Centred(x, OptionalInput(context, 2), "x", 1));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<uint64_t> kernel,
                           Centred(w, OptionalInput(context, 3), "w", shape.m));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor sums,
                           Convolve<uint64_t>(shape, values, kernel, {}, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y,
      FromInts(DataType::kInt32, shape.output,
               absl::MakeSpan(sums.data<int64_t>(), sums.num_elements()), context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status ConvTranspose::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor* bias = OptionalInput(context, 2);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(context));
  ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(x, context.input(1), bias));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> kernel, ToDoubles(context.input(1)));
  std::vector<double> start(shape.m, 0);
  if (bias != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(start, ToDoubles(*bias));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor sums,
                           Tensor::Allocate(DataType::kDouble, shape.output, context.allocator()));
  const int64_t channels = shape.c / shape.group;
  const int64_t features = shape.m / shape.group;
  for (int64_t n = 0; n < shape.n; ++n) {
    for (int64_t m = 0; m < shape.m; ++m) {
      double* y = sums.mutable_data<double>() + (n * shape.m + m) * shape.output_size;
      std::fill_n(y, shape.output_size, start[m]);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = m / features * channels + c;
        const double* in = values.data() + (n * shape.c + channel) * shape.input_size;
        const double* taps =
            kernel.data() + (channel * features + m % features) * shape.kernel_size;
        ForEachPosition(shape.window, [&](const Shape& position) {
          ForEachTap(shape.window, position,
                     [&](int64_t tap, int64_t offset) { y[offset] += *in * taps[tap]; });
          ++in;
        });
      }
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y,
      FromDoubles(x.type(), shape.output, absl::MakeSpan(sums.data<double>(), sums.num_elements()),
                  context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
