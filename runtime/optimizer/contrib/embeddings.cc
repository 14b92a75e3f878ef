#include "ops/contrib/embed_layer_normalization.h"
#include "optimizer/contrib/expansion.h"

namespace attnrun {
namespace {

using enum EmbedLayerNormalization::Input;

// The first rows of the table, one for each token, or those that the ids say.
Value* PositionRows(Expansion& e) {
  if (e.input(kPositionIds) != nullptr) {
    return e.Op("Gather", {e.input(kPositions), e.input(kPositionIds)});
  }
  Value* count = e.Op("Shape", {e.input(kIds)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return e.Op("Slice", {e.input(kPositions), e.Ints({0}), count, e.Ints({0})});
}

// How many elements of the mask are 1.
bool GiveMaskIndex(Expansion& e) {
  if (e.input(kMask) == nullptr) return e.Decline("it gives the index of a mask that it lacks");
  Value* one = e.Op("Equal", {e.input(kMask), e.Number(DataType::kInt32, 1)});
  Value* index =
      e.Op("ReduceSum", {e.Cast(one, DataType::kInt32), e.Ints({1})}, {{"keepdims", int64_t{0}}});
  return e.Give(index, 1);
}

}  // namespace

bool ExpandEmbedLayerNormalization(Expansion& e) {
  for (const int required : {kWords, kPositions, kGamma, kBeta}) {
    if (e.input(required) == nullptr) return e.Decline("it lacks a table or a parameter");
  }
  Value* sum = e.Op("Gather", {e.input(kWords), e.input(kIds)});
  sum = e.Op("Add", {sum, PositionRows(e)});
  if (e.input(kSegments) != nullptr) {
    if (e.input(kSegmentIds) == nullptr) return e.Decline("its segments have no ids");
    sum = e.Op("Add", {sum, e.Op("Gather", {e.input(kSegments), e.input(kSegmentIds)})});
  }
  if (e.IsRead(1) && !GiveMaskIndex(e)) return false;
  if (e.IsRead(2)) e.Give(sum, 2);
  return e.Give(e.Op("LayerNormalization", {sum, e.input(kGamma), e.input(kBeta)},
                     {{"epsilon", e.Attribute("epsilon", 1e-12F)}}));
}

}  // namespace attnrun
