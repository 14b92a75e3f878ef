// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {

// Range-1 (start, limit, delta?): Range of the standard; delta is 1 if it is left out.
Composite::Writer Range(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    Value* delta = b.input(2);
    if (delta == nullptr) {
      const DataType type = b.TypeOf(b.input(0));
      if (type == DataType::kUndefined) return b.Fail("the type of its start is not known");
      delta = b.Number(type, 1);
    }
    b.Give(b.Op("Range", {b.input(0), b.input(1), delta}));
  };
}

}  // namespace attnrun::ops::contrib
