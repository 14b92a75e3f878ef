// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_BODY_H_
#define ATTNRUN_OPS_COMPOSITE_BODY_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "ops/interface/infer_context.h"

namespace attnrun::ops {

// The nodes that an operator consists of, where its description writes them:
//
//   b.Give(b.Op("Gelu", {b.Op("Add", {b.input(0), b.input(1)})}));
//
// The description is written once and read three times. The optimizer adds the nodes to the graph
// in place of the operator; Infer derives facts through them; Reference runs each on its reference
// code. The facts about values are those of all runs in the first two cases and of one run, so
// complete, in the last. A description that needs a fact that is not known fails; so does one whose
// inputs cannot be valid. The optimizer then keeps the operator, Infer tells nothing, and Reference
// returns the error.
//
// Values are handles; null stands for an input that is left out.
class Body {
 public:
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  // Input i of the operator; null if it is left out.
  virtual Value* input(int i) const = 0;
  // True if output i must be given.
  virtual bool wants(int output) const = 0;
  virtual void Give(Value* value, int output = 0) = 0;

  // The outputs of a new node of the standard, or of "domain::Name" at version 1. Null inputs are
  // left out.
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {}) {
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    return AddNode(op_type, outputs, std::move(inputs), std::move(attributes));
  }
  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {}) {
    return Ops(op_type, 1, std::move(inputs), std::move(attributes))[0];
  }
  Value* Cast(Value* value, DataType type);
  // The value with new axes of extent 1 at these positions of the result's axes.
  Value* Unsqueeze(Value* value, std::initializer_list<int64_t> axes);
  // Extent `axis` of a value, as int64 of rank 0.
  Value* ExtentOf(Value* value, int64_t axis);
  // The integers from 0 up to `count`, exclusive, an int64 of rank 0.
  Value* Range(Value* count);

  // Constants. Ints() is a vector, Number() one element, of rank 0 or of the shape `dims`, which
  // must be ones.
  virtual Value* Constant(absl::StatusOr<Tensor> tensor) = 0;
  virtual Value* Ints(absl::Span<const int64_t> values);
  Value* Number(DataType type, double value, absl::Span<const int64_t> dims = {});

  // Facts; those about null are unknown. Ranks are -1, and types kUndefined, if they are not known;
  // axes count from the end if negative.
  virtual const ValueFacts& Of(const Value* value) = 0;
  DataType TypeOf(const Value* value) { return Of(value).type; }
  int RankOf(const Value* value);
  SymInt Dim(const Value* value, int axis);
  std::optional<int64_t> Extent(const Value* value, int axis) {
    return Dim(value, axis).constant();
  }
  // True if the value is known to be one number, of rank 0 or 1.
  bool IsNumber(const Value* value);
  // The value for messages: "float[batch,8]", "left out".
  std::string Describe(const Value* value);

  // The description fails with this message unless it failed before.
  void Fail(std::string message);
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

  // These fail if a value that is given is known not to be as expected.
  // An expected type of kUndefined and an expected extent that is no number are any.
  void Expect(absl::string_view name, const Value* value, DataType type,
              const std::vector<SymInt>& dims);
  // All have one type, which is a floating-point one.
  void ExpectFloats(std::initializer_list<const Value*> values);
  // Fails if a required input is left out.
  void ExpectInput(int i, absl::string_view name);

 protected:
  virtual std::vector<Value*> AddNode(const std::string& op_type, int outputs,
                                      std::vector<Value*> inputs, AttributeMap attributes) = 0;

 private:
  std::string error_;
};

// The base of operators that the optimizer replaces by what they consist of.
class HasBody {
 public:
  virtual ~HasBody() = default;
  virtual void WriteBody(Body& body) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_BODY_H_
