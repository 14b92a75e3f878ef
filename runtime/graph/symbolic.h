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

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/flat_map.h"

namespace attnrun {

// An integer that may depend on the extents of a run's inputs: a polynomial with integer
// coefficients over named symbols, such as 12, batch or 4*seq+past. Operator == compares normal
// forms: true proves that two are equal, false proves nothing.
class SymInt {
 public:
  // The constant 0.
  SymInt();
  SymInt(const SymInt& other);
  SymInt(SymInt&& other) noexcept;
  SymInt& operator=(const SymInt& other);
  SymInt& operator=(SymInt&& other) noexcept;
  ~SymInt();
  // Implicit, so that formulas read naturally.
  SymInt(int64_t value);  // NOLINT(google-explicit-constructor)
  // A symbol for an extent, so never negative. Files may name a dimension "past+1" or "7": names
  // that are not plain identifiers are quoted, so that they are not mistaken for formulas.
  static SymInt Symbol(absl::string_view name);
  // A symbol that equals nothing else and may be negative.
  static SymInt Unknown();

  std::optional<int64_t> constant() const;
  bool is_constant(int64_t value) const { return constant() == value; }
  // The value with all symbols 0: 3 for batch+3.
  int64_t constant_term() const;
  // The terms with their coefficients: 3, batch and 4*seq for 3+batch+4*seq. None for 0.
  std::vector<SymInt> Terms() const;
  // The coefficient of a single term: 4 for 4*seq.
  int64_t coefficient() const;
  // True if this is never negative. May be false where that is not easy to see.
  bool IsNeverNegative() const;
  // True if a - times * b is never negative, with the same reservation. Cheaper than computing it.
  static bool IsAtLeast(const SymInt& a, const SymInt& b, int64_t times = 1);
  // True if a symbol of Unknown() is part of it.
  bool HasUnknown() const;
  // True if all symbols are extents, and none is the result of a function.
  bool IsOfExtents() const;
  // True if ValueAt() needs no more than the symbols of extents.
  bool IsComputable() const;
  // The value where `extent` gives that of each symbol, by its text in ToString(). nullopt if it
  // does not give one, a function cannot be computed, or numbers overflow.
  using Extents = absl::FunctionRef<std::optional<int64_t>(const std::string&)>;
  std::optional<int64_t> ValueAt(Extents extent) const;
  // The term whose symbols have the longest definitions, where a function counts more than an
  // extent: the one to express by the others. Multiplying by a term does not change this order.
  // Precondition: this is not 0.
  SymInt LongestTerm() const;

  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend bool operator==(const SymInt& a, const SymInt& b);
  friend bool operator!=(const SymInt& a, const SymInt& b) { return !(a == b); }

  // a / b if the division leaves no remainder for any values of the symbols (except where b is 0);
  // nullopt where that is not easy to see.
  static std::optional<SymInt> DivideExactly(const SymInt& a, const SymInt& b);

  // The largest single term, with a coefficient above 0, that divides both. Precondition: one of
  // them is not 0.
  static SymInt CommonFactor(const SymInt& a, const SymInt& b);

  // a / b, rounded towards zero as integer division does; Unknown() if b is 0. Common factors
  // cancel, and nested quotients by positive constants are merged: (x/5)/2 is x/10.
  static SymInt Quotient(const SymInt& a, const SymInt& b);

  // a / b rounded down. Precondition: b is above 0. Whole multiples of b are moved out and nested
  // quotients are merged, so that equal quotients have equal formulas: (x - 8)/4 is x/4 - 2,
  // (x/5 + 1)/2 is (x + 5)/10, and -x/4 is -((x + 3)/4).
  static SymInt FloorQuotient(const SymInt& a, int64_t b);

  // The result of `name`(a, b) as a symbol: equal operands give equal symbols. Precondition: the
  // function is never negative if a and b are not.
  static SymInt Opaque(absl::string_view name, const SymInt& a, const SymInt& b);
  // The operands a and b if this is Opaque(name, a, b); otherwise nullopt.
  std::optional<std::pair<SymInt, SymInt>> OperandsOf(absl::string_view name) const;

  // "4*seq+past"; "0".
  std::string ToString() const;

 private:
  // The meaning of a symbol.
  struct Definition;

  // A symbol. Symbols with the same text are equal.
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

  // Sorted, with symbols repeated for powers; empty for the constant term.
  using Monomial = std::vector<Factor>;

  static SymInt Of(Definition definition);
  static bool IsNeverNegative(const Monomial& monomial, int64_t coefficient);
  // The number times a constant other than 0.
  SymInt Scaled(int64_t factor) const;
  static std::optional<int64_t> ValueOf(const Definition& symbol, Extents extent);

  // Has no zero coefficients.
  FlatMap<Monomial, int64_t, 1> terms_;
};

SymInt Product(const std::vector<SymInt>& factors);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_SYMBOLIC_H_
