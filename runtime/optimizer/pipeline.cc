// SPDX-License-Identifier: Apache-2.0

// The table of contents of the optimizer. To add a rule: define it in a file of its own below
// rules/, declare it here, and list it in its phase.

#include "optimizer/pipeline.h"

namespace attnrun::opt {

extern const Rule kConstantFolding, kShapeFolding, kNoOps, kCommonSubexpressions, kViews, kDeadCode;
extern const Rule kContribOperators, kCastLike, kRequantization, kScaledIntegers, kKnownSequences,
    kKnownConditions, kKnownBranches, kFloorDivision, kIntegerRange, kMaskedFill, kSelectRows,
    kSelectedScores, kShuffledLists, kSliceAssignments, kPaddedConvolution, kGatheredTable,
    kIntegerConvolution, kFlexAttention, kKnownHits, kAddedRows, kExperts, kBatchedExperts;
extern const Rule kLayerNormalization, kRmsNormalization, kGroupNormalization, kGelu, kSwish,
    kHardSwish, kHardSigmoid, kFoldedScale, kSoftmax, kMaskedSoftmax, kSoftmaxWithSink,
    kGatedSoftmax, kRotaryEmbedding, kPartialRotary, kMaskedMean;
extern const Rule kChannelsLast;
extern const Rule kSummedProducts, kEinsum, kLinear, kMoveViews, kPooledMeans;
extern const Rule kRegionSums, kRowFactors, kStackedProducts, kJoinedBiases, kJoinedKeys,
    kJoinedValues, kJoinedProducts, kAttention, kMissingSoftmax, kStandardAttention,
    kAttentionOperands, kAttentionMask;
extern const Rule kNeededRows;
extern const Rule kQkvProjection, kSiblingProjection, kAttentionHeads;
extern const Rule kHeadOperators;
extern const Rule kSquares, kNarrowSums, kSplitSlices, kPositionRows, kBroadcasts, kRelativeScores,
    kRelativePositions, kEmbeddingSum;
extern const Rule kGatedActivation, kActivation, kResidual;

const Phase& CleanUp() {
  static const auto* const clean_up = new Phase{
      "clean_up",
      {&kConstantFolding, &kShapeFolding, &kNoOps, &kCommonSubexpressions, &kViews, &kDeadCode}};
  return *clean_up;
}

const std::vector<Phase>& StandardPhases() {
  static const auto* const phases = new std::vector<Phase>{
      // Rewrites the several spellings of exporters to one.
      {"canonicalize",
       {&kContribOperators, &kCastLike, &kFlexAttention, &kRequantization, &kScaledIntegers,
        &kKnownSequences, &kKnownConditions, &kKnownBranches, &kFloorDivision, &kIntegerRange,
        &kMaskedFill, &kSelectRows, &kSelectedScores, &kShuffledLists, &kSliceAssignments,
        &kPaddedConvolution, &kGatheredTable, &kIntegerConvolution, &kKnownHits}},
      // Finds operators that exporters write as several nodes.
      {"recognize",
       {&kLayerNormalization, &kRmsNormalization, &kGroupNormalization, &kGelu, &kSwish,
        &kHardSwish, &kHardSigmoid, &kFoldedScale, &kSoftmax, &kMaskedSoftmax, &kSoftmaxWithSink,
        &kGatedSoftmax, &kRotaryEmbedding, &kPartialRotary, &kMaskedMean}},
      // Chooses the layout of images. Runs once activations and normalizations are found.
      {"images", {&kPooledMeans, &kChannelsLast}},
      // Finds products with constant weights.
      {"linear", {&kSummedProducts, &kEinsum, &kLinear, &kMoveViews}},
      // Finds mixtures of experts. Runs before the layers of an expert merge.
      {"experts", {&kAddedRows, &kExperts, &kBatchedExperts}},
      // Finds a Softmax between two products.
      {"attention",
       {&kRegionSums, &kRowFactors, &kStackedProducts, &kJoinedBiases, &kJoinedKeys, &kJoinedValues,
        &kJoinedProducts, &kAttention, &kMissingSoftmax, &kStandardAttention, &kAttentionOperands,
        &kAttentionMask}},
      // Runs before projections merge: the graph may need fewer rows of Q than of K and V.
      {"rows", {&kNeededRows}},
      // Merges products that share their input.
      {"merge",
       {&kQkvProjection, &kSiblingProjection, &kMoveViews, &kAttentionOperands, &kAttentionHeads}},
      // Runs after a clean-up, so that Q and K whose angles are one value are rotated together.
      {"heads", {&kHeadOperators}},
      // Changes how elements lie and where they are read.
      {"layout",
       {&kSquares, &kNarrowSums, &kSplitSlices, &kPositionRows, &kMoveViews, &kBroadcasts,
        &kRelativeScores, &kRelativePositions, &kEmbeddingSum}},
      // Makes the operators behind a product a part of it.
      {"epilogue", {&kGatedActivation, &kActivation, &kResidual}},
  };
  return *phases;
}

}  // namespace attnrun::opt
