// SPDX-License-Identifier: Apache-2.0
// Opens the library while the program runs, as a plug-in's host does, uses it on a thread of its own, closes it, and
// opens it again.
// usage: opens LIBRARY MODEL
#define _POSIX_C_SOURCE 200809L
#include <attnrun/c.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void* library;
static const char* model;

// Puts the address of a function into `function`. ISO C has no cast from an object pointer.
static int find(const char* name, void* function) {
  void* const address = dlsym(library, name);
  if (address == NULL) fprintf(stderr, "%s\n", dlerror());
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

// NULL if the model ran.
static void* load_and_run(void* unused) {
  attnrun_status* (*load)(const char*, const attnrun_session_options*, attnrun_session**);
  attnrun_status* (*borrow)(attnrun_type, size_t, const int64_t*, const int64_t*, const void*,
                            size_t, attnrun_tensor**);
  attnrun_status* (*run)(const attnrun_session*, const attnrun_run_options*, const char* const*,
                         const attnrun_tensor* const*, size_t, const char* const*, attnrun_tensor**,
                         size_t);
  void (*free_session)(attnrun_session*);
  void (*free_tensor)(attnrun_tensor*);
  const char* names[3] = {"input_ids", "attention_mask", "token_type_ids"};
  const char* output = "last_hidden_state";
  const int64_t ones[3] = {1, 1, 1};
  const int64_t shape[2] = {1, 3};
  attnrun_session* session = NULL;
  attnrun_tensor* ids = NULL;
  attnrun_tensor* result = NULL;
  const attnrun_tensor* inputs[3];
  (void)unused;
  if (!find("attnrun_session_load", &load) || !find("attnrun_tensor_borrow", &borrow) ||
      !find("attnrun_session_run", &run) || !find("attnrun_session_free", &free_session) ||
      !find("attnrun_tensor_free", &free_tensor)) {
    return &library;
  }
  if (load(model, NULL, &session) != NULL) return "load";
  if (borrow(ATTNRUN_TYPE_INT64, 2, shape, NULL, ones, sizeof ones, &ids) != NULL) return "borrow";
  inputs[0] = inputs[1] = inputs[2] = ids;
  if (run(session, NULL, names, inputs, 3, &output, &result, 1) != NULL) return "run";
  free_tensor(result);
  free_tensor(ids);
  free_session(session);
  return NULL;
}

// The library is closed while the thread that used it still exists, and its thread-local objects with it.
int main(int argc, char** argv) {
  int round;
  if (argc != 3) return 2;
  model = argv[2];
  for (round = 0; round < 3; ++round) {
    pthread_t thread;
    void* failed = NULL;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    if (pthread_create(&thread, NULL, load_and_run, NULL) != 0) return 1;
    if (pthread_join(thread, &failed) != 0 || failed != NULL) return 1;
    if (load_and_run(NULL) != NULL) return 1;
    if (dlclose(library) != 0) return 1;
  }
  puts("opens: all is well");
  return 0;
}
