// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_DETACHED_BODY_H_
#define ATTNRUN_OPS_COMPOSITE_DETACHED_BODY_H_

#include <deque>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/hash_map.h"
#include "ops/composite/body.h"

namespace attnrun::ops {

// A body whose nodes are in no graph: each is looked at when it is written.
class DetachedBody : public Body {
 public:
  Value* input(int i) const override { return i < std::ssize(inputs_) ? inputs_[i] : nullptr; }
  const ValueFacts& Of(const Value* value) override {
    static const ValueFacts* const kUnknown = new ValueFacts();
    const auto known = facts_.find(value);
    return known == facts_.end() ? *kUnknown : known->second;
  }
  Value* Constant(absl::StatusOr<Tensor> tensor) override {
    if (tensor.ok()) return Add(*tensor);
    // Otherwise what is known of a model would depend on the memory that was free.
    if (absl::IsResourceExhausted(tensor.status())) throw std::bad_alloc();
    Fail(std::string(tensor.status().message()));
    return nullptr;
  }

 protected:
  void AddInput(Value* value) { inputs_.push_back(value); }
  Value* Add(const ValueFacts& facts) {
    Value* value = &values_.emplace_back();
    facts_.emplace(value, facts);
    return value;
  }
  // A value whose elements are known.
  Value* Add(const Tensor& tensor) {
    Value* value = Add(FactsOf(tensor));
    tensors_.emplace(value, tensor);
    return value;
  }
  // Undefined if the elements are not known.
  Tensor TensorOf(const Value* value) const {
    const auto known = tensors_.find(value);
    return known == tensors_.end() ? Tensor() : known->second;
  }

 private:
  std::deque<Value> values_;
  std::vector<Value*> inputs_;
  // References to facts stay valid.
  HashMap<const Value*, ValueFacts> facts_;
  HashMap<const Value*, Tensor> tensors_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_DETACHED_BODY_H_
