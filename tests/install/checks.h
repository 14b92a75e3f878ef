// SPDX-License-Identifier: Apache-2.0
// The checks of the C programs here.
#ifndef ATTNRUN_TESTS_INSTALL_CHECKS_H_
#define ATTNRUN_TESTS_INSTALL_CHECKS_H_

#include <attnrun/c.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the program if a call failed.
static void check(attnrun_status* status, const char* call) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %d: %s\n", call, (int)attnrun_status_code(status),
          attnrun_status_message(status));
  exit(1);
}
#define CHECK(call) check(call, #call)

static void expect(int holds, const char* condition) {
  if (holds) return;
  fprintf(stderr, "expected %s\n", condition);
  exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

// Ends the program unless a call failed with this code and a message.
static void expect_code(attnrun_status* status, attnrun_code code) {
  EXPECT(attnrun_status_code(status) == code);
  EXPECT(attnrun_status_message(status)[0] != 0);
  attnrun_status_free(status);
}

#endif  // ATTNRUN_TESTS_INSTALL_CHECKS_H_
