// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "fuzz/graph_maker.h"
#include "support/op_tester.h"

// Constants, and operators that have several spellings.
namespace attnrun::testing {

Value* GraphMaker::Constant(Tensor tensor) {
  if (failed_) return nullptr;
  if (dice_.Chance(0.2)) return Op("Constant", {}, {{"value", std::move(tensor)}});
  return builder_.Constant("c", std::move(tensor));
}

Value* GraphMaker::Weight(const std::vector<int64_t>& shape, double scale) {
  Tensor tensor = RandomFloats(shape, dice_.generator(), static_cast<float>(scale));
  if (dice_.Chance(0.97)) return Constant(std::move(tensor));
  const std::vector<DimSpec> dims(shape.begin(), shape.end());
  return Input(DataType::kFloat, dims, -scale, scale);
}

Value* GraphMaker::Ints(const std::vector<int64_t>& elements) {
  return Constant(Make<int64_t>({static_cast<int64_t>(elements.size())}, elements));
}

Value* GraphMaker::Int(int64_t element) { return Constant(Make<int64_t>({}, {element})); }

Value* GraphMaker::Number(double number, DataType type) {
  if (dice_.Wrong()) number = dice_.Of({number * 1.5, -number, 0.0, 1.0, number + 0.125});
  std::vector<int64_t> shape;
  if (dice_.Chance(0.15)) shape.assign(dice_.Int(1, 4), 1);
  return Constant(FromDoubles(type, shape, std::vector<double>{number}).value());
}

int64_t GraphMaker::Axis(int64_t axis, int rank) {
  if (dice_.Wrong() && rank > 0) axis = dice_.Int(0, rank - 1);
  if (axis < 0) axis += rank;
  return dice_.Chance(0.5) ? axis : axis - rank;
}

Value* GraphMaker::Reduce(const std::string& op_type, Value* x, const std::vector<int64_t>& axes,
                          bool keep) {
  if (failed_) return nullptr;
  AttributeMap attributes;
  if (!keep || dice_.Chance(0.5)) attributes["keepdims"] = int64_t{keep ? 1 : 0};
  const bool as_input = opset_ >= (op_type == "ReduceSum" ? 13 : 18);
  if (!as_input) attributes["axes"] = axes;
  std::vector<Value*> inputs = {x};
  if (as_input) inputs.push_back(Ints(axes));
  return Op(op_type, inputs, attributes);
}

Value* GraphMaker::Unsqueeze(Value* x, const std::vector<int64_t>& axes) {
  return Op("Unsqueeze", {x, Ints(axes)});
}

Value* GraphMaker::Transpose(Value* x, std::vector<int64_t> permutation) {
  if (failed_) return nullptr;
  if (dice_.Wrong()) std::shuffle(permutation.begin(), permutation.end(), dice_.generator());
  return Op("Transpose", {x}, {{"perm", std::move(permutation)}});
}

Value* GraphMaker::ExtentOf(Value* x, int64_t axis) {
  if (failed_) return nullptr;
  if (axis < 0) axis += Rank(x);
  if (dice_.Chance(0.3)) {
    return Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
  }
  Value* shape = Op("Shape", {x});
  if (dice_.Chance(0.3)) {
    return Op("Slice", {shape, Ints({axis}), Ints({axis + 1}), Ints({0})});
  }
  if (dice_.Chance(0.5)) return Op("Gather", {shape, Ints({axis})}, {{"axis", int64_t{0}}});
  Value* extent = Op("Gather", {shape, Int(axis)}, {{"axis", int64_t{0}}});
  return Unsqueeze(extent, {0});
}

}  // namespace attnrun::testing
