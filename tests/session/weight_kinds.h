// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_WEIGHT_KINDS_H_
#define ATTNRUN_TESTS_SESSION_WEIGHT_KINDS_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/elements.h"
#include "loader/model_maker.h"

namespace attnrun::testing {

// How the weights of a model are stored.
enum class WeightKind {
  kFloat,
  kFloat16,
  kBfloat16,
  // The product of two weights, which the optimizer computes.
  kComputed,
  // DynamicQuantizeLinear and MatMulInteger, as quantize_dynamic writes it.
  kDynamicInt8,
  kQdqInt8,
  // MatMulNBits of 4 bits.
  kNBits,
  kNBitsZeroPoints,
  // Two convolutions in place of the attention.
  kConvolution,
  kConvInteger,
};

constexpr int64_t kKindWidth = 128;

// An attention of two heads of x [4, kKindWidth]: products of x for queries, keys and values, which
// the optimizer merges, and one of the result; or two convolutions of x.
class KindModel {
 public:
  explicit KindModel(WeightKind kind) : kind_(kind) {
    onnx::OperatorSetIdProto* const microsoft = model_.add_opset_import();
    microsoft->set_domain("com.microsoft");
    microsoft->set_version(1);
    SetType(graph_->add_input(), "x", FloatType(), {1, 4, kKindWidth});
    SetType(graph_->add_output(), "y", FloatType(), {1, 4, kKindWidth});
    if (kind_ == WeightKind::kConvolution || kind_ == WeightKind::kConvInteger) {
      Transpose("x", {0, 2, 1}, "x_turned");
      Convolve("x_turned", "first");
      AddNode(graph_, "Relu", {"first"}, {"relu"});
      Convolve("relu", "second");
      Transpose("second", {0, 2, 1}, "y");
    } else {
      Attend();
    }
  }

  const onnx::ModelProto& model() const { return model_; }

  DataType float_type() const {
    if (kind_ == WeightKind::kFloat16) return DataType::kFloat16;
    return kind_ == WeightKind::kBfloat16 ? DataType::kBfloat16 : DataType::kFloat;
  }

  Tensor Input() {
    return FromDoubles(float_type(), {1, 4, kKindWidth}, Numbers(4 * kKindWidth, 1)).value();
  }

 private:
  void Attend() {
    constexpr int64_t kHead = kKindWidth / 2;
    Constant("heads", DataType::kInt64, {4}, {0, 0, 2, kHead});
    Constant("joined", DataType::kInt64, {3}, {0, 0, kKindWidth});
    Heads("q", {0, 2, 1, 3});
    Heads("k", {0, 2, 3, 1});
    Heads("v", {0, 2, 1, 3});
    AddNode(graph_, "MatMul", {"q_heads", "k_heads"}, {"scores"});
    AddNode(graph_, "Softmax", {"scores"}, {"softmax"});
    AddNode(graph_, "MatMul", {"softmax", "v_heads"}, {"mixed"});
    Transpose("mixed", {0, 2, 1, 3}, "turned");
    AddNode(graph_, "Reshape", {"turned", "joined"}, {"attended"});
    Product("attended", "y");
  }

  // A convolution of three taps of [1, kKindWidth, 4].
  void Convolve(const std::string& x, const std::string& y) {
    const std::vector<int64_t> shape = {kKindWidth, kKindWidth, 3};
    onnx::NodeProto* node = nullptr;
    if (kind_ == WeightKind::kConvolution) {
      const std::string w = Constant(y + "_w", DataType::kFloat, shape,
                                     Numbers(shape[0] * shape[1] * shape[2], 0.05));
      node = AddNode(graph_, "Conv", {x, w}, {y});
    } else {
      AddNode(graph_, "DynamicQuantizeLinear", {x}, {y + "_x", y + "_scale", y + "_zero"});
      node =
          AddNode(graph_, "ConvInteger",
                  {y + "_x", Bytes(y + "_w", DataType::kInt8, shape), y + "_zero"}, {y + "_sums"});
      AddIntAttribute(AddNode(graph_, "Cast", {y + "_sums"}, {y}), "to", onnx::TensorProto::FLOAT);
    }
    onnx::AttributeProto* const pads = AddAttribute(node, "pads", onnx::AttributeProto::INTS);
    pads->add_ints(1);
    pads->add_ints(1);
  }

  int FloatType() const {
    if (kind_ == WeightKind::kFloat16) return onnx::TensorProto::FLOAT16;
    return kind_ == WeightKind::kBfloat16 ? onnx::TensorProto::BFLOAT16 : onnx::TensorProto::FLOAT;
  }

  std::vector<double> Numbers(int64_t count, double size) {
    std::normal_distribution<double> normal(0, size);
    std::vector<double> numbers(count);
    for (double& number : numbers) number = normal(generator_);
    return numbers;
  }

  std::string Constant(const std::string& name, DataType type, const std::vector<int64_t>& shape,
                       const std::vector<double>& numbers) {
    const Tensor tensor = FromDoubles(type, shape, numbers).value();
    *graph_->add_initializer() =
        RawTensor(name, static_cast<int>(type), shape,
                  {static_cast<const char*>(tensor.raw()), tensor.byte_size()});
    return name;
  }

  std::string Bytes(const std::string& name, DataType type, const std::vector<int64_t>& shape) {
    std::vector<double> numbers(NumElements(shape).value());
    for (double& number : numbers) {
      number = static_cast<double>(generator_() % 256) - (type == DataType::kInt8 ? 128 : 0);
    }
    return Constant(name, type, shape, numbers);
  }

  void Transpose(const std::string& x, const std::vector<int64_t>& order, const std::string& y) {
    onnx::AttributeProto* const perm =
        AddAttribute(AddNode(graph_, "Transpose", {x}, {y}), "perm", onnx::AttributeProto::INTS);
    for (const int64_t axis : order) perm->add_ints(axis);
  }

  void Heads(const std::string& name, const std::vector<int64_t>& order) {
    Product("x", name);
    AddNode(graph_, "Reshape", {name, "heads"}, {name + "_split"});
    Transpose(name + "_split", order, name + "_heads");
  }

  // y = x · W.
  void Product(const std::string& x, const std::string& y) {
    constexpr int64_t n = kKindWidth;
    const double size = 1 / std::sqrt(n);
    const std::string w = y + "_w";
    switch (kind_) {
      case WeightKind::kComputed:
        Constant(w + "1", DataType::kFloat, {n, n}, Numbers(n * n, size));
        Constant(w + "2", DataType::kFloat, {n, n}, Numbers(n * n, 1));
        AddNode(graph_, "Mul", {w + "1", w + "2"}, {w});
        AddNode(graph_, "MatMul", {x, w}, {y});
        return;
      case WeightKind::kDynamicInt8:
        AddNode(graph_, "DynamicQuantizeLinear", {x}, {y + "_x", y + "_scale", y + "_zero"});
        Constant(w + "_zero", DataType::kInt8, {}, {3});
        Constant(w + "_scale", DataType::kFloat, {}, {0.001});
        AddNode(graph_, "MatMulInteger",
                {y + "_x", Bytes(w, DataType::kInt8, {n, n}), y + "_zero", w + "_zero"},
                {y + "_sums"});
        AddIntAttribute(AddNode(graph_, "Cast", {y + "_sums"}, {y + "_floats"}), "to",
                        onnx::TensorProto::FLOAT);
        AddNode(graph_, "Mul", {y + "_scale", w + "_scale"}, {y + "_scales"});
        AddNode(graph_, "Mul", {y + "_floats", y + "_scales"}, {y});
        return;
      case WeightKind::kQdqInt8:
        Constant(y + "_scale", DataType::kFloat, {}, {0.03});
        Constant(y + "_zero", DataType::kUint8, {}, {128});
        Constant(w + "_scale", DataType::kFloat, {}, {0.001});
        Constant(w + "_zero", DataType::kInt8, {}, {0});
        AddNode(graph_, "QuantizeLinear", {x, y + "_scale", y + "_zero"}, {y + "_x"});
        AddNode(graph_, "DequantizeLinear", {y + "_x", y + "_scale", y + "_zero"}, {y + "_a"});
        AddNode(graph_, "DequantizeLinear",
                {Bytes(w, DataType::kInt8, {n, n}), w + "_scale", w + "_zero"}, {w + "_floats"});
        AddNode(graph_, "MatMul", {y + "_a", w + "_floats"}, {y});
        return;
      case WeightKind::kNBits:
      case WeightKind::kNBitsZeroPoints:
        NBits(x, y);
        return;
      default:
        AddNode(graph_, "MatMul", {x, Constant(w, float_type(), {n, n}, Numbers(n * n, size))},
                {y});
    }
  }

  void NBits(const std::string& x, const std::string& y) {
    constexpr int64_t n = kKindWidth;
    constexpr int64_t block = 32;
    Names inputs = {
        x, Bytes(y + "_w", DataType::kUint8, {n, n / block, block / 2}),
        Constant(y + "_scales", DataType::kFloat, {n, n / block}, Numbers(n * n / block, 0.02))};
    if (kind_ == WeightKind::kNBitsZeroPoints) {
      inputs.push_back(Bytes(y + "_zeros", DataType::kUint8, {n, n / block / 2}));
    }
    onnx::NodeProto* const node = AddNode(graph_, "MatMulNBits", inputs, {y});
    node->set_domain("com.microsoft");
    AddIntAttribute(node, "K", n);
    AddIntAttribute(node, "N", n);
    AddIntAttribute(node, "bits", 4);
    AddIntAttribute(node, "block_size", block);
  }

  const WeightKind kind_;
  std::mt19937 generator_{1};
  onnx::ModelProto model_ = EmptyModel();
  onnx::GraphProto* const graph_ = model_.mutable_graph();
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_WEIGHT_KINDS_H_
