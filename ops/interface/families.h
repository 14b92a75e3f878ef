// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_FAMILIES_H_
#define ATTNRUN_OPS_INTERFACE_FAMILIES_H_

#include "ops/interface/registry.h"

// One function per family of operators; each registers all operators of its folder.
// OpRegistry::Get calls them all.
namespace attnrun::ops {

// Attention and RotaryEmbedding, of the standard and of attnrun, and attnrun.HeadRmsNormalization.
void RegisterAttention(OpRegistry& registry);

void RegisterControlFlow(OpRegistry& registry);

// Operators of com.microsoft that ONNX Runtime's optimizer and onnxruntime-genai's model builder
// write. They have reference code only: the rule contrib_operators rewrites them as other
// operators.
void RegisterContrib(OpRegistry& registry);

void RegisterConv(OpRegistry& registry);
void RegisterCumulative(OpRegistry& registry);
void RegisterEinsum(OpRegistry& registry);

// Arithmetic, comparisons, logic, functions and activations, Where, Clip, casts, Identity, Dropout.
void RegisterElementwise(OpRegistry& registry);

// Operators that turn ids into rows, and the rows of a text into one: EmbeddingSum, MaskedMean.
void RegisterEmbedding(OpRegistry& registry);

// Operators that read from, or write to, places that an index tensor names.
void RegisterGather(OpRegistry& registry);

// Operators that make tensors from attributes, shapes and scalars.
void RegisterGenerate(OpRegistry& registry);

// attnrun.Linear and attnrun.GatedActivation.
void RegisterLinear(OpRegistry& registry);

// LinearAttention and CausalConvWithState.
void RegisterLinearAttention(OpRegistry& registry);

// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
void RegisterLoss(OpRegistry& registry);

void RegisterMatMul(OpRegistry& registry);

// MoE and QMoE of com.microsoft: mixtures of experts.
void RegisterMoe(OpRegistry& registry);

// Operators that move elements without looking at them.
void RegisterMovement(OpRegistry& registry);

// LayerNormalization, RMSNormalization, SimplifiedLayerNormalization, InstanceNormalization,
// GroupNormalization, BatchNormalization, LpNormalization, MeanVarianceNormalization and LRN.
void RegisterNormalization(OpRegistry& registry);

void RegisterPool(OpRegistry& registry);

// QuantizeLinear and its family (QDQ), QLinearMatMul and QLinearConv (int8), and ONNX Runtime's
// operators on weights of 2, 4 or 8 bits (n-bit).
void RegisterQuantization(OpRegistry& registry);

void RegisterRecurrent(OpRegistry& registry);
void RegisterReduce(OpRegistry& registry);

// Operators that work once per distance between query and key instead of once per pair:
// RelativePositions, RelativeToAbsolute, RelativeScores.
void RegisterRelative(OpRegistry& registry);

void RegisterResize(OpRegistry& registry);

// Operators that find elements by their value: ArgMax, ArgMin, NonZero, TopK, Unique.
void RegisterSearch(OpRegistry& registry);

// Operators on sequences of tensors and on optionals.
void RegisterSequence(OpRegistry& registry);

// Operators that read or change only the shape: Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze.
void RegisterShape(OpRegistry& registry);

// Operators of audio front ends: windows, Fourier transforms, the mel scale.
void RegisterSignal(OpRegistry& registry);

void RegisterSoftmax(OpRegistry& registry);

// Operators on strings, and TfIdfVectorizer.
void RegisterText(OpRegistry& registry);

// Operators of detectors and of warped images: GridSample, NonMaxSuppression, RoiAlign, DeformConv,
// MaxRoiPool, Col2Im, MaxUnpool, AffineGrid.
void RegisterVision(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_FAMILIES_H_
