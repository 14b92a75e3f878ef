// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_PRODUCT_SEARCH_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_PRODUCT_SEARCH_H_

#include "graph/graph.h"

namespace attnrun::opt {

// True for operators that may stand between a projection and its attention: they work on elements
// or on rows, or only move elements.
bool IsPassedThrough(const Node& node);

// True if the value leads, over such operators and a Softmax, to a product of two computed values
// (the scores, or probabilities times V) or to the standard's Attention.
bool LeadsToProduct(const Value* value);

// The same, or to a fused attention, in which no product is left to be found.
bool LeadsToAttention(const Value* value);

// The Linear or Conv that probabilities lead to, over views alone; null if there is none.
const Node* LinearMapBehind(const Value& probabilities);

// The node, behind any views, that reads the probabilities; near misses name it. Precondition: they
// have a reader.
const Node* ReaderBehindViews(const Value& probabilities);

// True if the value comes from a Softmax, over views, casts and factors alone.
bool ComesFromSoftmax(const Value* value);

// True if the value comes from such a product, over elementwise operators and views but no Softmax.
bool ComesFromProduct(const Value* value);

// True if some operators on elements and views alone compute the value from such a product.
bool IsMadeOfProduct(const Value* value);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_PRODUCT_SEARCH_H_
