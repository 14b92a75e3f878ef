// SPDX-License-Identifier: Apache-2.0
// Forks before the library is used, and after: each child loads and runs a model, and a child of a parent that has
// run a session runs it, too.
// usage: forks MODEL
#define _POSIX_C_SOURCE 200809L
#include <attnrun/c.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static attnrun_session* load(const char* path) {
  attnrun_session* session = NULL;
  attnrun_status* status = attnrun_session_load(path, NULL, &session);
  if (status != NULL) fprintf(stderr, "%s\n", attnrun_status_message(status));
  attnrun_status_free(status);
  return session;
}

// 1 if a run succeeds.
static int runs(const attnrun_session* session) {
  const char* names[3] = {"input_ids", "attention_mask", "token_type_ids"};
  const char* output = "last_hidden_state";
  const int64_t ones[3] = {1, 1, 1};
  const int64_t shape[2] = {1, 3};
  attnrun_tensor* ids = NULL;
  attnrun_tensor* result = NULL;
  const attnrun_tensor* inputs[3];
  attnrun_status* status =
      attnrun_tensor_borrow(ATTNRUN_TYPE_INT64, 2, shape, NULL, ones, sizeof ones, &ids);
  inputs[0] = inputs[1] = inputs[2] = ids;
  if (status == NULL) {
    status = attnrun_session_run(session, NULL, names, inputs, 3, &output, &result, 1);
  }
  if (status != NULL) fprintf(stderr, "%s\n", attnrun_status_message(status));
  attnrun_tensor_free(result);
  attnrun_tensor_free(ids);
  attnrun_status_free(status);
  return result != NULL;
}

static int loads_and_runs(const char* path) {
  attnrun_session* session = load(path);
  const int good = session != NULL && runs(session);
  attnrun_session_free(session);
  return good;
}

// In a child: loads a model, and runs the parent's session if there is one. Returns 1 if all is well.
static int child_is_well(const char* path, const attnrun_session* parents) {
  int status = 1;
  const pid_t child = fork();
  if (child == 0) {
    // A child that waits for ever is ended by the system.
    alarm(60);
    _exit(loads_and_runs(path) && (parents == NULL || runs(parents)) ? 0 : 1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char** argv) {
  attnrun_session* session;
  if (argc != 2) return 2;
  if (!child_is_well(argv[1], NULL)) return puts("the child of a parent without a session"), 1;
  session = load(argv[1]);
  if (session == NULL || !runs(session)) return 1;
  if (!child_is_well(argv[1], session)) return puts("the child of a parent with a session"), 1;
  if (!runs(session)) return puts("the parent after the fork"), 1;
  attnrun_session_free(session);
  if (!child_is_well(argv[1], NULL)) return puts("the child after the session's end"), 1;
  puts("forks: all is well");
  return 0;
}
