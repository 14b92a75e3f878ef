// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TEXT_TFIDF_VECTORIZER_H_
#define ATTNRUN_OPS_TEXT_TFIDF_VECTORIZER_H_

#include <map>
#include <string>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX TfIdfVectorizer-9 (x [C] or [N, C], of int32, int64 or strings) -> float [M] or [N, M]: how
// often each n-gram of a pool is in a row. The pool holds n-grams of 1, 2, .. elements one after
// the other, and those of n begin at ngram_counts[n - 1]; n-gram i counts at place ngram_indexes[i]
// of the output. Only those of min_gram_length to max_gram_length elements count; they are looked
// for in each (s + 1)-th element of a row, with s from 0 to max_skip_count (single elements with 0
// only). `mode`: TF gives the count, IDF the weight of an n-gram that is there, TFIDF the product
// of both.
class TfIdfVectorizer final : public Op {
 public:
  explicit TfIdfVectorizer(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  using Gram = std::vector<int64_t>;

  absl::Status ReadPool(const std::vector<int64_t>& counts, const std::vector<int64_t>& elements);
  void CountRow(const std::vector<int64_t>& row, double* counts) const;
  // The elements of x as the pool's numbers.
  absl::StatusOr<std::vector<int64_t>> Numbers(const Tensor& x) const;
  bool IsString() const { return !words_.empty(); }

  bool counts_;
  int64_t most_skipped_;
  int64_t shortest_;
  int64_t longest_;
  // The places of n-grams in the output, of `width_`, and the weights of places, if any.
  std::vector<int64_t> places_;
  int64_t width_ = 0;
  std::map<int64_t, double> weights_;
  std::map<Gram, int64_t> pool_;
  // The strings of the pool, which n-grams name by number.
  std::map<std::string, int64_t> words_;
  // An error of the attributes.
  absl::Status status_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TEXT_TFIDF_VECTORIZER_H_
