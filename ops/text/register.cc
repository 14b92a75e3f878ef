// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/text/strings.h"
#include "ops/text/tfidf_vectorizer.h"

namespace attnrun::ops {

void RegisterText(OpRegistry& registry) {
  registry.Register(
      {"", "RegexFullMatch", {20}, {1, 1}, {1, 1}, Make<RegexFullMatch>, kElementwise});
  registry.Register({"", "StringConcat", {20}, {2, 2}, {1, 1}, Make<StringConcat>, kBroadcasting});
  registry.Register({"", "StringNormalizer", {10}, {1, 1}, {1, 1}, Make<StringNormalizer>});
  registry.Register({"", "StringSplit", {20}, {1, 1}, {2, 2}, Make<StringSplit>});
  registry.Register({"", "TfIdfVectorizer", {9}, {1, 1}, {1, 1}, Make<TfIdfVectorizer>});
}

}  // namespace attnrun::ops
