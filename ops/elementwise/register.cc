// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/comparison.h"
#include "ops/elementwise/identity.h"
#include "ops/elementwise/predicate.h"
#include "ops/elementwise/swiglu.h"
#include "ops/elementwise/unary.h"
#include "ops/elementwise/where.h"
#include "ops/interface/families.h"

namespace attnrun::ops {

void RegisterElementwise(OpRegistry& registry) {
  RegisterActivation(registry);
  RegisterArithmetic(registry);
  RegisterCast(registry);
  RegisterClip(registry);
  RegisterComparison(registry);
  RegisterIdentity(registry);
  RegisterPredicate(registry);
  RegisterSwiglu(registry);
  RegisterUnary(registry);
  RegisterWhere(registry);
}

}  // namespace attnrun::ops
