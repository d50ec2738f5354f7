#pragma once

#include <adjoint/core/tensor.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A writer of ONNX graphs, opset 18 (onnx.ai/onnx/operators).

namespace adj::detail {

class OnnxGraph;

/// A value within a graph, by its name; without a graph: absent.
struct OnnxValue {
  OnnxGraph* graph = nullptr;
  std::string name = {};
  explicit operator bool() const { return graph != nullptr; }
};

/// An attribute of an operator, by the standard's name.
using OnnxAttribute = std::pair<std::string, std::variant<int64_t, float, std::string, std::vector<int64_t>>>;

/// A graph that is written node by node, each after its inputs.
class OnnxGraph {
 public:
  /// `weights`: the tensors by name that weight() may use.
  explicit OnnxGraph(const std::vector<std::pair<std::string, Tensor>>& weights);
  ~OnnxGraph();

  /// `shape`: numbers, or names of extents that differ between graphs.
  OnnxValue input(const std::string& name, DType dtype, const std::vector<std::string>& shape);
  /// A float32 output of the file.
  void output(const std::string& name, const OnnxValue& value, const std::vector<std::string>& shape);

  bool has_weight(const std::string& name) const { return weights_.contains(name); }
  /// A tensor of the model as float32, under its own name. Throws if there is none.
  OnnxValue weight(const std::string& name);
  int64_t extent(const std::string& weight, int dim) const;  ///< its size
  /// Names of the model's tensors that no weight() used.
  std::vector<std::string> unused_weights() const;

  OnnxValue number(float value);                          ///< [1]
  OnnxValue integers(const std::vector<int64_t>& value);  ///< int64 [*]
  OnnxValue constant(const std::string& name, const Tensor& value);

  /// The first output of an operator. An absent input is left out.
  OnnxValue node(const std::string& op, const std::vector<OnnxValue>& inputs,
                 const std::vector<OnnxAttribute>& attributes = {});

  /// "x float32 [nodes, 16]" of each input and output, in order.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// The file. Throws above 2 GB, which a file of this format cannot have.
  std::string bytes(const std::string& name, const std::map<std::string, std::string>& metadata) const;

 private:
  struct File;
  std::unique_ptr<File> file_;
  std::map<std::string, Tensor> weights_;
  std::set<std::string> used_, constants_;
  std::vector<std::string> inputs_, outputs_;
};

OnnxValue operator+(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator-(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator*(const OnnxValue& a, const OnnxValue& b);
OnnxValue operator/(const OnnxValue& a, const OnnxValue& b);
OnnxValue matmul(const OnnxValue& a, const OnnxValue& b);
/// Rows of x by number, of any int64 shape.
OnnxValue gather(const OnnxValue& x, const OnnxValue& rows);
/// Elementwise; `condition` is boolean.
OnnxValue where(const OnnxValue& condition, const OnnxValue& a, const OnnxValue& b);
OnnxValue concat(const std::vector<OnnxValue>& parts, int64_t axis = 0);
OnnxValue cast(const OnnxValue& x, DType dtype);  ///< float32 or int64
/// 0 in `shape` keeps an extent, -1 takes what is left.
OnnxValue reshape(const OnnxValue& x, const std::vector<int64_t>& shape);
OnnxValue unsqueeze(const OnnxValue& x, int64_t axis);
/// Along the last axis, which is left out, or kept as 1.
OnnxValue sum_last(const OnnxValue& x, bool keep = false);
/// int64 [last - first]: some extents of x.
OnnxValue shape_of(const OnnxValue& x, int64_t first, int64_t last);
OnnxValue filled(const OnnxValue& shape, float value);  ///< float32 of a shape

}  // namespace adj::detail
