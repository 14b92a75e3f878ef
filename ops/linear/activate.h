#ifndef ATTNRUN_OPS_LINEAR_ACTIVATE_H_
#define ATTNRUN_OPS_LINEAR_ACTIVATE_H_

#include "ops/attribute_reader.h"
#include "ops/matmul/activation.h"

namespace attnrun {

// The attribute `activation`, one of kActivationNames; none if it is left out.
Activation ReadActivation(AttributeReader& attributes);

// The activation of one number, as reference code computes it.
double Activate(Activation activation, double x);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_LINEAR_ACTIVATE_H_
