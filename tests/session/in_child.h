// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_IN_CHILD_H_
#define ATTNRUN_TESTS_SESSION_IN_CHILD_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

namespace attnrun::testing {

// The result of `body` in a child, from 0 to 255; -1 if the child dies. One that hangs is killed.
inline int StatusOfChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// True if `body` returns true in a child.
inline bool InChild(const std::function<bool()>& body) {
  return StatusOfChild([&] { return body() ? EXIT_SUCCESS : EXIT_FAILURE; }) == EXIT_SUCCESS;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_IN_CHILD_H_
