// SPDX-License-Identifier: Apache-2.0
// The facts that operators infer about their outputs must hold for the results.
#include "support/infer_soundness.h"
#include "gtest/gtest.h"

namespace attnrun::testing {
namespace {

TEST(InferSoundnessTest, Shapes) { ExpectSound(ShapeSamples()); }
TEST(InferSoundnessTest, Movement) { ExpectSound(MovementSamples()); }
TEST(InferSoundnessTest, Gathering) { ExpectSound(GatheringSamples()); }
TEST(InferSoundnessTest, Generating) { ExpectSound(GeneratingSamples()); }
TEST(InferSoundnessTest, Integers) { ExpectSound(IntegerSamples()); }
TEST(InferSoundnessTest, Elementwise) { ExpectSound(ElementwiseSamples()); }
TEST(InferSoundnessTest, Products) { ExpectSound(ProductSamples()); }
TEST(InferSoundnessTest, Reductions) { ExpectSound(ReductionSamples()); }
TEST(InferSoundnessTest, Layers) { ExpectSound(LayerSamples()); }
TEST(InferSoundnessTest, Attention) { ExpectSound(AttentionSamples()); }
TEST(InferSoundnessTest, Images) { ExpectSound(ImageSamples()); }
TEST(InferSoundnessTest, Signals) { ExpectSound(SignalSamples()); }
TEST(InferSoundnessTest, Internal) { ExpectSound(InternalSamples()); }
TEST(InferSoundnessTest, ContribRows) { ExpectSound(ContribRowSamples()); }
TEST(InferSoundnessTest, ContribProducts) { ExpectSound(ContribProductSamples()); }
TEST(InferSoundnessTest, ContribAttention) { ExpectSound(ContribAttentionSamples()); }

}  // namespace
}  // namespace attnrun::testing
