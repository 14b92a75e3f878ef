// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_SYMBOLIC_H_
#define ATTNRUN_GRAPH_SYMBOLIC_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"

namespace attnrun {

// An integer that may depend on the extents of a run's inputs: a polynomial with integer
// coefficients over named symbols, such as 12, batch or 4*seq+past. Two are equal if and only if
// their normal forms are, so inequality proves nothing.
class SymInt {
 public:
  // The constant 0.
  SymInt() = default;
  // Implicit, so that formulas read as usual.
  SymInt(int64_t value);  // NOLINT(google-explicit-constructor)
  // An extent, so not negative. Files name their dimensions as they like, "past+1" or "7" included:
  // what is not a plain identifier is quoted, so that it is mistaken for nothing else.
  static SymInt Symbol(absl::string_view name);
  // A symbol that equals nothing else, and may be negative.
  static SymInt Unknown();

  std::optional<int64_t> constant() const;
  bool is_constant(int64_t value) const { return constant() == value; }
  // What is left if every symbol is 0: 3 of batch+3.
  int64_t constant_term() const;
  // Its terms, each with its coefficient: 3, batch and 4*seq of 3+batch+4*seq. None of 0.
  std::vector<SymInt> Terms() const;
  // Of a single term: 4 of 4*seq.
  int64_t coefficient() const;
  // False also where that is not plain to see.
  bool IsNeverNegative() const;
  // Whether something that equals nothing else is part of it.
  bool HasUnknown() const;
  // Whether its symbols are extents, none the result of a function.
  bool IsOfExtents() const;

  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend bool operator==(const SymInt& a, const SymInt& b) { return a.terms_ == b.terms_; }
  friend bool operator!=(const SymInt& a, const SymInt& b) { return !(a == b); }

  // a / b where the division leaves no remainder whatever the symbols are (all but where they make
  // b zero); nullopt where that is not plain to see.
  static std::optional<SymInt> DivideExactly(const SymInt& a, const SymInt& b);

  // a / b as integers are divided, towards zero; unknown where b is 0. Quotients of quotients by
  // positive numbers are one: (x/5)/2 is x/10.
  static SymInt Quotient(const SymInt& a, const SymInt& b);

  // The result of `name`(a, b) as a symbol of its own: equal operands give equal results. A
  // function that is never negative for such operands.
  static SymInt Opaque(absl::string_view name, const SymInt& a, const SymInt& b);
  // The a and b of which this is Opaque(name, a, b); nullopt if it is something else.
  std::optional<std::pair<SymInt, SymInt>> OperandsOf(absl::string_view name) const;

  // "4*seq+past"; "0".
  std::string ToString() const;

 private:
  // What a symbol stands for.
  struct Definition;

  // A symbol. What is written alike is equal.
  class Factor {
   public:
    explicit Factor(Definition definition);
    const Definition& operator*() const { return *definition_; }
    const Definition* operator->() const { return definition_.get(); }
    std::strong_ordering operator<=>(const Factor& other) const;
    bool operator==(const Factor& other) const { return (*this <=> other) == 0; }

   private:
    std::shared_ptr<const Definition> definition_;
  };

  static SymInt Of(Definition definition);

  // Sorted, repeated for powers; empty for the constant term.
  using Monomial = std::vector<Factor>;
  // Without zero coefficients.
  absl::btree_map<Monomial, int64_t> terms_;
};

SymInt Product(const std::vector<SymInt>& factors);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_SYMBOLIC_H_
