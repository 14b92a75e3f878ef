// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_CACHE_MODELS_H_
#define ATTNRUN_TESTS_SESSION_CACHE_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "loader/model_maker.h"

// Small models whose inputs "past..." are carried to their outputs "present...", and which read the
// vectors "x" of some positions.
namespace attnrun::testing {

inline constexpr int64_t kCacheRows = 16;
inline constexpr int64_t kCacheWidth = 8;

// Declares an input or output. A number below 0 is an open extent: -1 is "d1", and so on.
inline void Declare(onnx::ValueInfoProto* info, const std::string& name, int type,
                    const std::vector<int64_t>& dims) {
  SetType(info, name, type, dims);
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      shape->mutable_dim(static_cast<int>(i))->set_dim_param("d" + std::to_string(-dims[i]));
  }
}

inline void AddInts(onnx::GraphProto* graph, const std::string& name,
                    const std::vector<int64_t>& dims, const std::vector<int64_t>& elements) {
  onnx::TensorProto& tensor = *graph->add_initializer();
  tensor = MakeTensor(name, onnx::TensorProto::INT64, dims);
  for (const int64_t element : elements) tensor.add_int64_data(element);
}

// A decoder of `length` ids, or of any number, that keeps a vector of `width` numbers for each id:
// declares its ids, logits and cache.
inline void DeclareDecoder(onnx::GraphProto* graph, int64_t length, int64_t width) {
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, length});
  Declare(graph->add_input(), "past_key_values.0.key", onnx::TensorProto::FLOAT, {1, -2, width});
  Declare(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, -1, width});
  Declare(graph->add_output(), "present.0.key", onnx::TensorProto::FLOAT, {1, -3, width});
}

// Its cache keeps the "rows" of "table" that the ids choose.
inline void AddCachedRows(onnx::GraphProto* graph) {
  AddNode(graph, "Gather", {"table", "input_ids"}, {"rows"});
  AddIntAttribute(AddNode(graph, "Concat", {"past_key_values.0.key", "rows"}, {"present.0.key"}),
                  "axis", 1);
}

// `sums` at the new ids: those of the rows of `values` up to each of them.
inline void AddNewSums(onnx::GraphProto* graph, const std::string& values,
                       const std::string& sums) {
  AddInts(graph, "axis", {1}, {1});
  AddInts(graph, "one", {}, {1});
  AddInts(graph, "end", {1}, {1 << 30});
  AddNode(graph, "CumSum", {values, "one"}, {"sums"});
  AddNode(graph, "Shape", {"input_ids"}, {"shape"});
  AddNode(graph, "Slice", {"shape", "axis", "end"}, {"length"});
  AddNode(graph, "Neg", {"length"}, {"start"});
  AddNode(graph, "Slice", {"sums", "start", "end", "axis"}, {sums});
}

// "y": how much the vectors x resemble the rows of `cache`, and the mean of the rows weighted so.
inline void AddReader(onnx::GraphProto* graph, const std::string& cache, int rank) {
  std::vector<int64_t> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[rank - 1], order[rank - 2]);
  onnx::AttributeProto* perm = AddAttribute(AddNode(graph, "Transpose", {cache}, {"turned"}),
                                            "perm", onnx::AttributeProto::INTS);
  for (const int64_t axis : order) perm->add_ints(axis);
  AddNode(graph, "MatMul", {"x", "turned"}, {"scores"});
  AddNode(graph, "Softmax", {"scores"}, {"shares"});
  AddNode(graph, "MatMul", {"shares", cache}, {"y"});
}

// A sliding window: the cache and the new rows, of which the last `window` stay.
inline std::string WindowModel(int64_t window) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 2, -1, kCacheWidth});
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, {1, 2, -2, kCacheWidth});
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, 2, -1, kCacheWidth});
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, {1, 2, -3, kCacheWidth});
  AddInts(graph, "begin", {1}, {-window});
  AddInts(graph, "end", {1}, {INT64_MAX});
  AddInts(graph, "axis", {1}, {2});
  AddIntAttribute(AddNode(graph, "Concat", {"past.k", "x"}, {"all"}), "axis", 2);
  AddNode(graph, "Slice", {"all", "begin", "end", "axis"}, {"present.k"});
  AddReader(graph, "all", 4);
  return model.SerializeAsString();
}

// A model of one GroupQueryAttention, whose caches hold rows of `width` elements of `type`.
// "lengths" is the number of positions before the last one, "total" that of all.
inline onnx::ModelProto GroupQueryModel(int type, int64_t width) {
  onnx::ModelProto model = EmptyModel();
  onnx::OperatorSetIdProto* contrib = model.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, -1, kCacheWidth});
  Declare(graph->add_input(), "lengths", onnx::TensorProto::INT32, {1});
  Declare(graph->add_input(), "total", onnx::TensorProto::INT32, {});
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, -1, kCacheWidth});
  for (const char* name : {"k", "v"}) {
    const std::string role = name;
    Declare(graph->add_input(), "past." + role, type, {1, 1, -2, width});
    Declare(graph->add_output(), "present." + role, type, {1, 1, -3, width});
  }
  onnx::NodeProto* node =
      AddNode(graph, "GroupQueryAttention", {"x", "x", "x", "past.k", "past.v", "lengths", "total"},
              {"y", "present.k", "present.v"});
  node->set_domain("com.microsoft");
  AddIntAttribute(node, "num_heads", 1);
  AddIntAttribute(node, "kv_num_heads", 1);
  return model;
}

// Attention of the last `window` positions as onnxruntime-genai writes it: the caches slide, or
// keep all positions.
inline std::string QueryModel(int64_t window, bool slides) {
  onnx::ModelProto model = GroupQueryModel(onnx::TensorProto::FLOAT, kCacheWidth);
  onnx::NodeProto* node = model.mutable_graph()->mutable_node(0);
  AddIntAttribute(node, "local_window_size", window);
  if (slides) AddIntAttribute(node, "sliding_window_cache", 1);
  return model.SerializeAsString();
}

// Attention whose caches hold integers of 8 or 4 bits.
inline std::string QuantizedQueryModel(int64_t bits) {
  onnx::ModelProto model =
      GroupQueryModel(bits == 8 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8,
                      bits == 8 ? kCacheWidth : kCacheWidth / 2);
  onnx::GraphProto* graph = model.mutable_graph();
  *graph->add_initializer() = MakeTensor("scale", onnx::TensorProto::FLOAT, {1});
  graph->mutable_initializer(0)->add_float_data(bits == 8 ? 0.01F : 0.2F);
  onnx::NodeProto* node = graph->mutable_node(0);
  for (int i = 0; i < 5; ++i) node->add_input("");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    node->add_input("scale");
    AddAttribute(node, name, onnx::AttributeProto::STRING)->set_s("PER_TENSOR");
  }
  AddIntAttribute(node, "kv_cache_bit_width", bits);
  return model.SerializeAsString();
}

// A cache that keeps all rows. With `tells_shape`, the output "shape" is that of the past rows. If
// `axis` is 3, it is cut into columns: positions are its last axis.
inline std::string AppendModel(bool tells_shape = false, int axis = 2) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  const auto shape = [axis](int64_t positions) {
    return axis == 2 ? std::vector<int64_t>{-4, 2, positions, kCacheWidth}
                     : std::vector<int64_t>{-4, 2, kCacheWidth, positions};
  };
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, shape(-1));
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, shape(-2));
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, shape(-1));
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, shape(-3));
  AddIntAttribute(AddNode(graph, "Concat", {"past.k", "x"}, {"present.k"}), "axis", axis);
  AddReader(graph, "present.k", 4);
  if (tells_shape) {
    Declare(graph->add_output(), "shape", onnx::TensorProto::INT64, {4});
    AddNode(graph, "Shape", {"past.k"}, {"shape"});
  }
  return model.SerializeAsString();
}

// A cache that keeps all rows beside a window.
inline std::string HybridModel(int64_t window) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 2, -1, kCacheWidth});
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, {1, 2, -2, kCacheWidth});
  Declare(graph->add_input(), "past.window", onnx::TensorProto::FLOAT, {1, 2, -5, kCacheWidth});
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, 2, -6, kCacheWidth});
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, {1, 2, -3, kCacheWidth});
  Declare(graph->add_output(), "present.window", onnx::TensorProto::FLOAT, {1, 2, -7, kCacheWidth});
  AddInts(graph, "begin", {1}, {-window});
  AddInts(graph, "end", {1}, {INT64_MAX});
  AddInts(graph, "axis", {1}, {2});
  AddIntAttribute(AddNode(graph, "Concat", {"past.k", "x"}, {"present.k"}), "axis", 2);
  AddIntAttribute(AddNode(graph, "Concat", {"past.window", "x"}, {"all"}), "axis", 2);
  AddNode(graph, "Slice", {"all", "begin", "end", "axis"}, {"present.window"});
  AddIntAttribute(AddNode(graph, "Concat", {"present.k", "all"}, {"both"}), "axis", 2);
  AddReader(graph, "both", 4);
  return model.SerializeAsString();
}

// A window of fixed extent, whose oldest rows the new ones push out.
inline std::string ShiftModel(int64_t window) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 2, 1, kCacheWidth});
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, {1, 2, window, kCacheWidth});
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, 2, 1, kCacheWidth});
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, {1, 2, window, kCacheWidth});
  AddInts(graph, "begin", {1}, {1});
  AddInts(graph, "end", {1}, {INT64_MAX});
  AddInts(graph, "axis", {1}, {2});
  AddNode(graph, "Slice", {"past.k", "begin", "end", "axis"}, {"rest"});
  AddIntAttribute(AddNode(graph, "Concat", {"rest", "x"}, {"present.k"}), "axis", 2);
  AddReader(graph, "present.k", 4);
  return model.SerializeAsString();
}

// A static cache that an operator overwrites at the positions "at".
inline std::string WrittenModel(const std::string& op) {
  onnx::ModelProto model = EmptyModel();
  model.mutable_opset_import(0)->set_version(24);
  onnx::GraphProto* graph = model.mutable_graph();
  const bool has_batch = op == "TensorScatter";
  const auto shape = [&](int64_t rows) {
    return has_batch ? std::vector<int64_t>{1, rows, kCacheWidth}
                     : std::vector<int64_t>{rows, kCacheWidth};
  };
  // Where overwrites one row in each run.
  const int64_t step = op == "Where" ? 1 : -1;
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, shape(step));
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, shape(kCacheRows));
  const std::vector<int64_t> places = op == "ScatterElements" ? shape(step)
                                      : has_batch             ? std::vector<int64_t>{1}
                                                              : std::vector<int64_t>{step, 1};
  Declare(graph->add_input(), "at", onnx::TensorProto::INT64, places);
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, shape(step));
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, shape(kCacheRows));
  if (op == "TensorScatter") {
    AddIntAttribute(AddNode(graph, op, {"past.k", "x", "at"}, {"present.k"}), "axis", 1);
  } else if (op == "Where") {
    std::vector<int64_t> rows(kCacheRows);
    for (int64_t i = 0; i < kCacheRows; ++i) rows[i] = i;
    AddInts(graph, "rows", {kCacheRows, 1}, rows);
    AddNode(graph, "Equal", {"rows", "at"}, {"here"});
    AddNode(graph, op, {"here", "x", "past.k"}, {"present.k"});
  } else {
    AddNode(graph, op, {"past.k", "at", "x"}, {"present.k"});
  }
  AddReader(graph, "present.k", has_batch ? 3 : 2);
  return model.SerializeAsString();
}

// Rows for the positions [begin, end), in a tensor of this shape; elements of different positions
// differ.
inline Tensor RowsFor(const Shape& shape, int64_t begin, int64_t end) {
  std::vector<float> elements(*NumElements(shape));
  const int64_t per_head = (end - begin) * kCacheWidth;
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t position = begin + static_cast<int64_t>(i) % per_head / kCacheWidth;
    elements[i] = static_cast<float>((position * 37 + static_cast<int64_t>(i) * 11) % 97 - 48) / 64;
  }
  return *Tensor::Of<float>(shape, elements);
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_CACHE_MODELS_H_
