// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_INPUTS_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_INPUTS_H_

#include <cstddef>
#include <optional>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace attnrun::ops {

// The numbers that an attnrun.Linear multiplies.
enum class LinearFormat {
  kFloat,
  // X and weights are bytes with scales and zero points.
  kInt8,
  // X is floats; the weights are codes of a few bits with scales and zero points.
  kNBit,
};

// The names as attributes, in the order of the enumerators.
inline constexpr absl::string_view kLinearFormatNames[] = {"", "int8", "nbit"};
inline constexpr char kLinearFormat[] = "format";

inline absl::string_view NameOf(LinearFormat format) {
  return kLinearFormatNames[static_cast<int>(format)];
}
// nullopt if no format has this name.
std::optional<LinearFormat> LinearFormatNamed(absl::string_view name);

// One of the matrices by which a node multiplies. T is a value of the graph, or a tensor.
template <typename T>
struct LinearWeight {
  T values{};
  // Neither with floats. Zero points may be left out.
  T scales{};
  T zero_points{};
};

// Those of one node, without memory from the heap for Q, K and V and one more.
template <typename T>
using LinearWeights = absl::InlinedVector<LinearWeight<T>, 4>;

// Where the inputs of an attnrun.Linear stand:
//
//   X, W0, bias?, residual?, [x_scale, x_zero_point?,] [w0_scales, w0_zero_points?,]
//   W1, [w1_scales, w1_zero_points?,] W2, ...
//
// X has a scale and a zero point with int8, each weight has them with int8 and nbit.
class LinearInputs {
 public:
  static constexpr int kX = 0;
  static constexpr int kWeight = 1;
  static constexpr int kBias = 2;
  static constexpr int kResidual = 3;
  // With int8 only.
  static constexpr int kXScale = 4;
  static constexpr int kXZeroPoint = 5;

  explicit LinearInputs(LinearFormat format) : format_(format) {}

  LinearFormat format() const { return format_; }
  bool has_x_scale() const { return format_ == LinearFormat::kInt8; }
  bool has_scales() const { return format_ != LinearFormat::kFloat; }

  // The number of weights of a node with this many inputs.
  int NumWeights(size_t inputs) const;
  // The inputs of weight `index`; -1 for those that the format lacks.
  LinearWeight<int> PositionsOf(int index) const;

  // The weights of a node with this many inputs. `input` returns each of them, or what stands for
  // one that is left out.
  template <typename Function>
  auto Weights(size_t inputs, Function input) const {
    using T = std::invoke_result_t<Function, int>;
    LinearWeights<T> weights;
    const auto count = static_cast<int>(inputs);
    const auto read = [&](int i) { return i < 0 || i >= count ? T() : input(i); };
    for (int i = 0; i < NumWeights(inputs); ++i) {
      const LinearWeight<int> at = PositionsOf(i);
      weights.push_back({read(at.values), read(at.scales), read(at.zero_points)});
    }
    return weights;
  }

 private:
  int InputsPerWeight() const { return has_scales() ? 3 : 1; }
  // The first input that belongs to a weight, beside kWeight.
  int FirstOfWeights() const { return has_x_scale() ? kXZeroPoint + 1 : kResidual + 1; }

  LinearFormat format_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_INPUTS_H_
