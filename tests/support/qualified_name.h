// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_QUALIFIED_NAME_H_
#define ATTNRUN_TESTS_SUPPORT_QUALIFIED_NAME_H_

#include <cstddef>
#include <string>

namespace attnrun::testing {

// An operator as tests write it: "Name" of the standard, whose domain is empty, or "domain::Name".
struct QualifiedName {
  explicit QualifiedName(const std::string& text) : op_type(text) {
    const size_t colon = text.find("::");
    if (colon == std::string::npos) return;
    domain = text.substr(0, colon);
    op_type = text.substr(colon + 2);
  }

  bool is_standard() const { return domain.empty(); }

  std::string domain;
  std::string op_type;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_QUALIFIED_NAME_H_
