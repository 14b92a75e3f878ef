// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_C_H_
#define ATTNRUN_C_H_

// The C API (C99) of libattnrun.so, for C and for languages that call C.
//
// Handles. A function with a handle as its last parameter, a pointer to a pointer, makes an object
// there, which the caller frees by the attnrun_..._free function of its type; these accept NULL. If
// the function fails, the pointer is left as it was. Pointers that getters return belong to the
// object and live as long as it does. Getters, and setters that return nothing, need an object:
// they do not check for NULL.
//
// Errors. A function that can fail returns NULL, which means that all is well, or an
// attnrun_status, which the caller frees. No C++ exception leaves a function. When no memory is
// left, even for a message, a constant status is returned.
//
// Strings end with a zero byte and are UTF-8 where attnrun writes them; paths and names are the
// bytes that the caller gives. Only the elements of string tensors may hold zero bytes.
//
// Threads. An object may be read, and a session run, by many threads at once. Only
// attnrun_run_options_set_cancelled may change an object that others use.
//
// Growth. Functions are added and never changed, and a setting that the caller does not know keeps
// its default: therefore options are set by functions and are no structures. attnrun_version says
// which library is running. See docs/packaging.md.

#include <stddef.h>
#include <stdint.h>

#include "attnrun/export.h"
#include "attnrun/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// "0.1.0". ATTNRUN_VERSION is the version of this header.
ATTNRUN_EXPORT const char* attnrun_version(void);

// ---- Status ----

// The codes are those of absl::Status and gRPC. The header attnrun/session.h says which of them a
// load and a run give, and when.
typedef int32_t attnrun_code;
enum {
  ATTNRUN_OK = 0,
  ATTNRUN_CANCELLED = 1,
  ATTNRUN_UNKNOWN = 2,
  ATTNRUN_INVALID_ARGUMENT = 3,
  ATTNRUN_DEADLINE_EXCEEDED = 4,
  ATTNRUN_NOT_FOUND = 5,
  ATTNRUN_ALREADY_EXISTS = 6,
  ATTNRUN_PERMISSION_DENIED = 7,
  ATTNRUN_RESOURCE_EXHAUSTED = 8,
  ATTNRUN_FAILED_PRECONDITION = 9,
  ATTNRUN_ABORTED = 10,
  ATTNRUN_OUT_OF_RANGE = 11,
  ATTNRUN_UNIMPLEMENTED = 12,
  ATTNRUN_INTERNAL = 13,
  ATTNRUN_UNAVAILABLE = 14,
  ATTNRUN_DATA_LOSS = 15
};

typedef struct attnrun_status attnrun_status;

// NULL is a status, too: ATTNRUN_OK and "".
ATTNRUN_EXPORT attnrun_code attnrun_status_code(const attnrun_status* status);
ATTNRUN_EXPORT const char* attnrun_status_message(const attnrun_status* status);
ATTNRUN_EXPORT void attnrun_status_free(attnrun_status* status);

// ---- Types ----

// The numbers are those of ONNX's TensorProto.DataType, but for that of sequences. float16 and
// bfloat16 are held in uint16_t, 8-bit floats in uint8_t, bool in one byte that is 0 or 1, complex
// numbers as two floats or doubles. Types of 4 and 2 bits are packed, the first element in the
// lowest bits.
typedef int32_t attnrun_type;
enum {
  ATTNRUN_TYPE_UNDEFINED = 0,
  ATTNRUN_TYPE_FLOAT = 1,
  ATTNRUN_TYPE_UINT8 = 2,
  ATTNRUN_TYPE_INT8 = 3,
  ATTNRUN_TYPE_UINT16 = 4,
  ATTNRUN_TYPE_INT16 = 5,
  ATTNRUN_TYPE_INT32 = 6,
  ATTNRUN_TYPE_INT64 = 7,
  ATTNRUN_TYPE_STRING = 8,
  ATTNRUN_TYPE_BOOL = 9,
  ATTNRUN_TYPE_FLOAT16 = 10,
  ATTNRUN_TYPE_DOUBLE = 11,
  ATTNRUN_TYPE_UINT32 = 12,
  ATTNRUN_TYPE_UINT64 = 13,
  ATTNRUN_TYPE_COMPLEX64 = 14,
  ATTNRUN_TYPE_COMPLEX128 = 15,
  ATTNRUN_TYPE_BFLOAT16 = 16,
  ATTNRUN_TYPE_FLOAT8E4M3FN = 17,
  ATTNRUN_TYPE_FLOAT8E4M3FNUZ = 18,
  ATTNRUN_TYPE_FLOAT8E5M2 = 19,
  ATTNRUN_TYPE_FLOAT8E5M2FNUZ = 20,
  ATTNRUN_TYPE_UINT4 = 21,
  ATTNRUN_TYPE_INT4 = 22,
  ATTNRUN_TYPE_FLOAT4E2M1 = 23,
  ATTNRUN_TYPE_FLOAT8E8M0 = 24,
  ATTNRUN_TYPE_UINT2 = 25,
  ATTNRUN_TYPE_INT2 = 26,
  ATTNRUN_TYPE_SEQUENCE = 31
};

// ONNX's spelling: "float", "int64"; "undefined" for a number that is no type.
ATTNRUN_EXPORT const char* attnrun_type_name(attnrun_type type);

// ---- Tensors ----

typedef struct attnrun_tensor attnrun_tensor;

// A view of the caller's memory, which must outlive the tensor: `size` bytes at `data`, of which
// the first element is the first. `strides` are in elements, at least 0 and one per axis, or NULL
// for a dense, row-major tensor; packed types are always dense. Not for strings. INVALID_ARGUMENT
// if an element lies outside the memory, and for a dense tensor if `size` is not exactly its size.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_borrow(attnrun_type type, size_t rank,
                                                     const int64_t* shape, const int64_t* strides,
                                                     const void* data, size_t size,
                                                     attnrun_tensor** tensor);

// As attnrun_tensor_borrow, for memory that a run fills. No two elements may be at one place.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_borrow_mutable(attnrun_type type, size_t rank,
                                                             const int64_t* shape,
                                                             const int64_t* strides, void* data,
                                                             size_t size, attnrun_tensor** tensor);

// A dense tensor with memory of its own; numbers are uninitialized, strings empty.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_allocate(attnrun_type type, size_t rank,
                                                       const int64_t* shape,
                                                       attnrun_tensor** tensor);

// A tensor of copies of `count` strings, one per element. `lengths` may be NULL for strings that
// end with a zero byte.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_strings(size_t rank, const int64_t* shape,
                                                      const char* const* strings,
                                                      const size_t* lengths, size_t count,
                                                      attnrun_tensor** tensor);

// A sequence of `count` tensors of one type, which shares their memory. `tensors` may be freed.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_sequence(attnrun_type type,
                                                       const attnrun_tensor* const* tensors,
                                                       size_t count, attnrun_tensor** sequence);

ATTNRUN_EXPORT void attnrun_tensor_free(attnrun_tensor* tensor);

// A sequence has the type ATTNRUN_TYPE_SEQUENCE and one axis; an optional without an element has
// the type ATTNRUN_TYPE_UNDEFINED.
ATTNRUN_EXPORT attnrun_type attnrun_tensor_type(const attnrun_tensor* tensor);
ATTNRUN_EXPORT size_t attnrun_tensor_rank(const attnrun_tensor* tensor);
// One extent per axis.
ATTNRUN_EXPORT const int64_t* attnrun_tensor_shape(const attnrun_tensor* tensor);
ATTNRUN_EXPORT size_t attnrun_tensor_element_count(const attnrun_tensor* tensor);

// The bytes of the elements of a dense tensor; packed types are rounded up to a whole byte. 0 for
// strings and sequences.
ATTNRUN_EXPORT size_t attnrun_tensor_byte_size(const attnrun_tensor* tensor);
// The first element; NULL for strings and sequences. Results of runs are dense.
ATTNRUN_EXPORT const void* attnrun_tensor_data(const attnrun_tensor* tensor);
// The same if the elements may be written, NULL otherwise.
ATTNRUN_EXPORT void* attnrun_tensor_mutable_data(attnrun_tensor* tensor);

// An element of a string tensor, in row-major order, and its length if `length` is not NULL. NULL
// if there is none.
ATTNRUN_EXPORT const char* attnrun_tensor_string(const attnrun_tensor* tensor, size_t index,
                                                 size_t* length);
// A tensor of a sequence, which shares its memory. OUT_OF_RANGE if there is none.
ATTNRUN_EXPORT attnrun_status* attnrun_tensor_sequence_at(const attnrun_tensor* sequence,
                                                          size_t index, attnrun_tensor** tensor);

// ---- Models ----

// An input or output as the model declares it.
typedef struct attnrun_value_info attnrun_value_info;

typedef int32_t attnrun_kind;
enum {
  ATTNRUN_KIND_TENSOR = 0,
  ATTNRUN_KIND_SEQUENCE = 1,
  ATTNRUN_KIND_OPTIONAL_TENSOR = 2,
  ATTNRUN_KIND_OPTIONAL_SEQUENCE = 3
};

ATTNRUN_EXPORT const char* attnrun_value_info_name(const attnrun_value_info* info);
// Type and shape are those of the tensor, or of each tensor of a sequence.
ATTNRUN_EXPORT attnrun_type attnrun_value_info_type(const attnrun_value_info* info);
ATTNRUN_EXPORT attnrun_kind attnrun_value_info_kind(const attnrun_value_info* info);
// 1 for an input that may be left out, since the model holds its default; otherwise 0.
ATTNRUN_EXPORT int attnrun_value_info_has_default(const attnrun_value_info* info);
// -1 if the model does not state the rank.
ATTNRUN_EXPORT int32_t attnrun_value_info_rank(const attnrun_value_info* info);
// The extent of an axis in [0, rank); -1 if it is not fixed.
ATTNRUN_EXPORT int64_t attnrun_value_info_dim(const attnrun_value_info* info, int32_t axis);
// The name of an extent that is not fixed, such as "batch"; "" if it has none.
ATTNRUN_EXPORT const char* attnrun_value_info_dim_name(const attnrun_value_info* info,
                                                       int32_t axis);

// The inputs, outputs and notes that a model declares.
typedef struct attnrun_model_info attnrun_model_info;

// Reads an .onnx file without preparing it to run.
ATTNRUN_EXPORT attnrun_status* attnrun_model_info_load(const char* path, attnrun_model_info** info);
ATTNRUN_EXPORT void attnrun_model_info_free(attnrun_model_info* info);

// In the model's order. NULL beyond the last.
ATTNRUN_EXPORT size_t attnrun_model_info_input_count(const attnrun_model_info* info);
ATTNRUN_EXPORT const attnrun_value_info* attnrun_model_info_input(const attnrun_model_info* info,
                                                                  size_t index);
ATTNRUN_EXPORT size_t attnrun_model_info_output_count(const attnrun_model_info* info);
ATTNRUN_EXPORT const attnrun_value_info* attnrun_model_info_output(const attnrun_model_info* info,
                                                                   size_t index);

// The model's own notes (ONNX's metadata_props), ordered by key. NULL beyond the last.
ATTNRUN_EXPORT size_t attnrun_model_info_metadata_count(const attnrun_model_info* info);
ATTNRUN_EXPORT const char* attnrun_model_info_metadata_key(const attnrun_model_info* info,
                                                           size_t index);
ATTNRUN_EXPORT const char* attnrun_model_info_metadata_value(const attnrun_model_info* info,
                                                             size_t index);

// ---- Sessions ----

// The settings of attnrun::SessionOptions (attnrun/session.h), with their defaults.
typedef struct attnrun_session_options attnrun_session_options;

ATTNRUN_EXPORT attnrun_status* attnrun_session_options_new(attnrun_session_options** options);
ATTNRUN_EXPORT void attnrun_session_options_free(attnrun_session_options* options);
// "optimized", "unoptimized" or "reference".
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_set_engine(attnrun_session_options* options,
                                                                  const char* name);
// "float32", "bf16", "int8-activations" or "int8".
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_set_precision(
    attnrun_session_options* options, const char* name);
// The most threads of a run; 0 for as many as the process may use.
ATTNRUN_EXPORT void attnrun_session_options_set_threads(attnrun_session_options* options,
                                                        int32_t threads);
// A directory where packed weights are kept; "" for none.
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_set_weight_cache(
    attnrun_session_options* options, const char* path);
// Unless 0, a load compares the checksums of all packed weights.
ATTNRUN_EXPORT void attnrun_session_options_set_verify_weight_cache(
    attnrun_session_options* options, int verify);
// If 0, a load copies the model's files into memory instead of mapping them.
ATTNRUN_EXPORT void attnrun_session_options_set_map_files(attnrun_session_options* options,
                                                          int map);
// Unless 0, weights are laid out for products of few rows: see SessionOptions::few_rows.
ATTNRUN_EXPORT void attnrun_session_options_set_few_rows(attnrun_session_options* options,
                                                         int few_rows);
// The type in which states hold caches of keys and values that the model declares as float:
// ATTNRUN_TYPE_FLOAT, or lossy FLOAT16, BFLOAT16 or INT8. See SessionOptions::cache_type. A load
// refuses other types.
ATTNRUN_EXPORT void attnrun_session_options_set_cache_type(attnrun_session_options* options,
                                                           attnrun_type type);
// Skips a pass of the optimizer. May be called for several.
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_disable_pass(
    attnrun_session_options* options, const char* name);

// Computes of an output only the last positions along axis 1, such as the logits of a decoder: see
// SessionOptions::last_positions_of. May be called for several.
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_add_last_positions_of(
    attnrun_session_options* options, const char* output);

// Bounds a load or the runs: see attnrun::Limits (attnrun/limits.h), whose fields are the names:
// "file_bytes", "nodes", "waiting_runs" and so on. INVALID_ARGUMENT for a name that is none.
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_set_limit(attnrun_session_options* options,
                                                                 const char* name, int64_t limit);

// Bounds the bytes of all tensors of the process: see attnrun::SetHeapLimit (attnrun/limits.h).
ATTNRUN_EXPORT void attnrun_set_heap_limit(int64_t bytes);

// Threads that several sessions share: see attnrun/thread_pool.h. 0 threads for as many as the
// process may use. Lives as long as a session uses it, also after it is freed.
typedef struct attnrun_thread_pool attnrun_thread_pool;
ATTNRUN_EXPORT attnrun_status* attnrun_thread_pool_new(int32_t threads, attnrun_thread_pool** pool);
ATTNRUN_EXPORT void attnrun_thread_pool_free(attnrun_thread_pool* pool);
ATTNRUN_EXPORT int32_t attnrun_thread_pool_threads(const attnrun_thread_pool* pool);
ATTNRUN_EXPORT void attnrun_session_options_set_thread_pool(attnrun_session_options* options,
                                                            const attnrun_thread_pool* pool);

// Receives what goes wrong without being an error, one line each, on the thread that called
// attnrun. `level` is 0 for information and 1 for a warning.
typedef void (*attnrun_log_function)(void* context, int level, const char* message);
ATTNRUN_EXPORT attnrun_status* attnrun_session_options_set_log(attnrun_session_options* options,
                                                               attnrun_log_function log,
                                                               void* context);

// A model prepared to run.
typedef struct attnrun_session attnrun_session;

// `options` may be NULL, and may be freed afterwards.
ATTNRUN_EXPORT attnrun_status* attnrun_session_load(const char* path,
                                                    const attnrun_session_options* options,
                                                    attnrun_session** session);
// From the bytes of an .onnx file without external data, which must outlive the session.
ATTNRUN_EXPORT attnrun_status* attnrun_session_load_bytes(const void* bytes, size_t size,
                                                          const attnrun_session_options* options,
                                                          attnrun_session** session);
// No run may be under way but those of attnrun_session_run_async.
ATTNRUN_EXPORT void attnrun_session_free(attnrun_session* session);

ATTNRUN_EXPORT const attnrun_model_info* attnrun_session_model(const attnrun_session* session);
// The most threads of a run.
ATTNRUN_EXPORT int32_t attnrun_session_threads(const attnrun_session* session);

// A count of the session since it was loaded: see attnrun::SessionMetrics (attnrun/metrics.h),
// whose fields are the names: "succeeded", "failed", "waiting", "arena_bytes" and so on, and the
// sums "latency_microseconds" and "wait_microseconds". -1 for a name that is none.
ATTNRUN_EXPORT int64_t attnrun_session_metric(const attnrun_session* session, const char* name);

// ---- Runs ----

// The settings of attnrun::RunOptions (attnrun/run_options.h). Several runs may use them at once.
typedef struct attnrun_run_options attnrun_run_options;

ATTNRUN_EXPORT attnrun_status* attnrun_run_options_new(attnrun_run_options** options);
ATTNRUN_EXPORT void attnrun_run_options_free(attnrun_run_options* options);
// A run fails with DEADLINE_EXCEEDED this long after it was called, waiting included. Negative, as
// by default: it may take any time.
ATTNRUN_EXPORT void attnrun_run_options_set_timeout(attnrun_run_options* options,
                                                    int64_t microseconds);
// Bytes of intermediate tensors and outputs beyond which a run fails with RESOURCE_EXHAUSTED; 0 for
// no limit but the process's.
ATTNRUN_EXPORT void attnrun_run_options_set_memory_limit(attnrun_run_options* options,
                                                         int64_t bytes);
// Unless 0, runs with these options end with CANCELLED: those under way, and those to come until it
// is 0 again. May be called from any thread at any time.
ATTNRUN_EXPORT void attnrun_run_options_set_cancelled(attnrun_run_options* options, int cancelled);

// Runs the model on `inputs` of these names and gives the outputs of the names in `output_names`,
// each name once. An input with a default, or an optional one, may be left out or be NULL. Where
// `outputs` has a tensor, it must be mutable and have the type and shape of the result; it is
// filled and keeps its strides. Where it has NULL, a new tensor is put there, which the caller
// frees. If the run fails, no tensor is put anywhere, and the contents of those given are
// unspecified. `options` may be NULL.
ATTNRUN_EXPORT attnrun_status* attnrun_session_run(
    const attnrun_session* session, const attnrun_run_options* options,
    const char* const* input_names, const attnrun_tensor* const* inputs, size_t input_count,
    const char* const* output_names, attnrun_tensor** outputs, size_t output_count);

// Receives the end of a run: NULL if it succeeded, otherwise a status, which this function frees.
typedef void (*attnrun_run_done)(void* context, attnrun_status* status);

// As attnrun_session_run, but returns at once: a thread of attnrun computes the run in its turn and
// calls `done` once; see Session::RunAsync (attnrun/session.h) for what it may do. If an error is
// returned, `done` is never called. Until it is called, `options` and the array `outputs` must
// exist, and bytes that inputs and outputs borrow, too; all other arguments may be freed at once.
// attnrun_session_free waits for such runs.
ATTNRUN_EXPORT attnrun_status* attnrun_session_run_async(
    const attnrun_session* session, const attnrun_run_options* options,
    const char* const* input_names, const attnrun_tensor* const* inputs, size_t input_count,
    const char* const* output_names, attnrun_tensor** outputs, size_t output_count,
    attnrun_run_done done, void* context);

// ---- State ----

// The values that a model carries from run to run, such as the keys and values of a decoder: see
// attnrun/state.h. Its session must outlive it. Used by one thread at a time.
typedef struct attnrun_state attnrun_state;

// The state before the first step: `batch` rows without positions. `capacity` is the number of
// positions for which memory is taken at once; more is taken when they are used up.
ATTNRUN_EXPORT attnrun_status* attnrun_session_new_state(const attnrun_session* session,
                                                         int64_t batch, int64_t capacity,
                                                         attnrun_state** state);
ATTNRUN_EXPORT void attnrun_state_free(attnrun_state* state);

// The values that the model carries: the names of their inputs. NULL beyond the last.
ATTNRUN_EXPORT size_t attnrun_session_state_count(const attnrun_session* session);
ATTNRUN_EXPORT const char* attnrun_session_state_name(const attnrun_session* session, size_t index);

// As attnrun_session_run on `inputs` and the values of the state, which takes those of the next
// step. Neither `inputs` nor `outputs` has values that are carried, and all of `outputs` must be
// NULL: new tensors are put there. If the step fails, the state is as before.
ATTNRUN_EXPORT attnrun_status* attnrun_session_step(
    const attnrun_session* session, const attnrun_run_options* options, attnrun_state* state,
    const char* const* input_names, const attnrun_tensor* const* inputs, size_t input_count,
    const char* const* output_names, attnrun_tensor** outputs, size_t output_count);

// Several requests at once, each with the outputs that it would have alone, to the bit: see
// attnrun::Session::RunTogether. All have the same names of inputs and outputs: inputs[r *
// input_count + i] is the input input_names[i] of request r, or NULL where it is left out, and
// outputs[r * output_count + i] its output output_names[i], a new tensor where NULL must be.
// Request r is a step of states[r]; where that, or `states`, is NULL, it is a run. A state may
// occur once. If a request fails, no tensor is put anywhere, and all states are as before.
ATTNRUN_EXPORT attnrun_status* attnrun_session_run_together(
    const attnrun_session* session, const attnrun_run_options* options, size_t request_count,
    attnrun_state* const* states, const char* const* input_names,
    const attnrun_tensor* const* inputs, size_t input_count, const char* const* output_names,
    attnrun_tensor** outputs, size_t output_count);

ATTNRUN_EXPORT int64_t attnrun_state_batch(const attnrun_state* state);
// The positions that the state holds.
ATTNRUN_EXPORT int64_t attnrun_state_length(const attnrun_state* state);
ATTNRUN_EXPORT size_t attnrun_state_byte_size(const attnrun_state* state);
// Forgets the positions from `length` on. FAILED_PRECONDITION if the model cannot.
ATTNRUN_EXPORT attnrun_status* attnrun_state_rewind(attnrun_state* state, int64_t length);
// A state with the same values.
ATTNRUN_EXPORT attnrun_status* attnrun_state_clone(const attnrun_state* state,
                                                   attnrun_state** clone);
// A state whose row i is row rows[i] of this one, as for beams.
ATTNRUN_EXPORT attnrun_status* attnrun_state_select(const attnrun_state* state, const int64_t* rows,
                                                    size_t count, attnrun_state** selected);
// The value of an input in the next step, dense. It may share the state's memory, which the step
// may change: copy it before.
ATTNRUN_EXPORT attnrun_status* attnrun_state_value(const attnrun_state* state, const char* input,
                                                   attnrun_tensor** value);
// Replaces a value, such as keys of an encoder that another model has computed.
ATTNRUN_EXPORT attnrun_status* attnrun_state_set(attnrun_state* state, const char* input,
                                                 const attnrun_tensor* value);

// The bytes that a state of attnrun_session_new_state takes until it outgrows its capacity.
ATTNRUN_EXPORT attnrun_status* attnrun_session_state_bytes(const attnrun_session* session,
                                                           int64_t batch, int64_t capacity,
                                                           size_t* bytes);
// Writes the state to a file, for attnrun_session_load_state on a session of the same model and
// precision: see attnrun/state.h.
ATTNRUN_EXPORT attnrun_status* attnrun_state_save(const attnrun_state* state, const char* path);
ATTNRUN_EXPORT attnrun_status* attnrun_session_load_state(const attnrun_session* session,
                                                          const char* path, int64_t capacity,
                                                          attnrun_state** state);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ATTNRUN_C_H_
