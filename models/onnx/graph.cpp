#include <adjoint/build.h>
#include <adjoint/core/error.h>
#include <adjoint/models/detail/onnx_graph.h>

#include <bit>
#include <limits>

#include <fmt/ranges.h>
#include <models/onnx/onnx.pb.h>

namespace adj::detail {

static_assert(std::endian::native == std::endian::little, "ONNX is little-endian");

namespace {

constexpr int64_t kIrVersion = 8, kOpset = 18;

onnx_file::Tensor::DataType type_of(DType dtype) {
  ADJ_CHECK(dtype == DType::f32 || dtype == DType::i64, "ONNX: a tensor of {}, expected float32 or int64",
            name_of(dtype));
  return dtype == DType::f32 ? onnx_file::Tensor::FLOAT : onnx_file::Tensor::INT64;
}

std::string declare(onnx_file::ValueInfo& info, const std::string& name, DType dtype,
                    const std::vector<std::string>& shape) {
  info.set_name(name);
  onnx_file::TensorType& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(type_of(dtype));
  for (const std::string& extent : shape) {
    onnx_file::Dimension& dim = *type.mutable_shape()->add_dim();
    if (extent.find_first_not_of("0123456789") == std::string::npos)
      dim.set_dim_value(std::stoll(extent));
    else
      dim.set_dim_param(extent);
  }
  return fmt::format("{} {} [{}]", name, name_of(dtype), fmt::join(shape, ", "));
}

using Attribute = onnx_file::Attribute;

Attribute::Type set(Attribute& attribute, int64_t value) { return attribute.set_i(value), Attribute::INT; }
Attribute::Type set(Attribute& attribute, float value) { return attribute.set_f(value), Attribute::FLOAT; }
Attribute::Type set(Attribute& attribute, const std::string& value) {
  return attribute.set_s(value), Attribute::STRING;
}
Attribute::Type set(Attribute& attribute, const std::vector<int64_t>& value) {
  attribute.mutable_ints()->Add(value.begin(), value.end());
  return Attribute::INTS;
}

}  // namespace

struct OnnxGraph::File {
  onnx_file::Model model;
};

OnnxGraph::OnnxGraph(const std::vector<std::pair<std::string, Tensor>>& weights)
    : file_(std::make_unique<File>()), weights_(weights.begin(), weights.end()) {}

OnnxGraph::~OnnxGraph() = default;

OnnxValue OnnxGraph::input(const std::string& name, DType dtype, const std::vector<std::string>& shape) {
  inputs_.push_back(declare(*file_->model.mutable_graph()->add_input(), name, dtype, shape));
  return {this, name};
}

void OnnxGraph::output(const std::string& name, const OnnxValue& value,
                       const std::vector<std::string>& shape) {
  onnx_file::Node& renamed = *file_->model.mutable_graph()->add_node();
  renamed.set_op_type("Identity");
  renamed.set_name(name);
  renamed.add_input(value.name);
  renamed.add_output(name);
  outputs_.push_back(declare(*file_->model.mutable_graph()->add_output(), name, DType::f32, shape));
}

OnnxValue OnnxGraph::weight(const std::string& name) {
  const auto found = weights_.find(name);
  ADJ_CHECK(found != weights_.end(), "ONNX: the model has no {}", name);
  used_.insert(name);
  return constant(name, found->second.to(DType::f32));
}

int64_t OnnxGraph::extent(const std::string& weight, int dim) const { return weights_.at(weight).size(dim); }

std::vector<std::string> OnnxGraph::unused_weights() const {
  std::vector<std::string> unused;
  for (const auto& [name, tensor] : weights_)
    if (!used_.contains(name)) unused.push_back(name);
  return unused;
}

OnnxValue OnnxGraph::number(float value) {
  return constant(fmt::format("number_{}", value), Tensor::from(std::vector{value}));
}

OnnxValue OnnxGraph::integers(const std::vector<int64_t>& value) {
  return constant(fmt::format("integers_{}", fmt::join(value, "_")), Tensor::from(value));
}

OnnxValue OnnxGraph::constant(const std::string& name, const Tensor& value) {
  if (!constants_.insert(name).second) return {this, name};
  onnx_file::Tensor& tensor = *file_->model.mutable_graph()->add_initializer();
  const Tensor local = value.to(Device::cpu());
  tensor.set_name(name);
  tensor.set_data_type(type_of(local.dtype()));
  for (int d = 0; d < local.dims(); ++d) tensor.add_dims(local.size(d));
  tensor.set_raw_data(std::string(static_cast<const char*>(local.raw_data()), local.bytes()));
  return {this, name};
}

OnnxValue OnnxGraph::node(const std::string& op, const std::vector<OnnxValue>& inputs,
                          const std::vector<OnnxAttribute>& attributes) {
  onnx_file::Graph& graph = *file_->model.mutable_graph();
  const std::string name = fmt::format("{}_{}", op, graph.node_size());
  onnx_file::Node& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const OnnxValue& input : inputs) node.add_input(input.name);
  node.add_output(name);
  for (const auto& [attribute, value] : attributes) {
    Attribute& added = *node.add_attribute();
    added.set_name(attribute);
    added.set_type(std::visit([&](const auto& of_type) { return set(added, of_type); }, value));
  }
  return {this, name};
}

std::string OnnxGraph::bytes(const std::string& name,
                             const std::map<std::string, std::string>& metadata) const {
  onnx_file::Model model = file_->model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("adjoint");
  model.set_producer_version(ADJOINT_VERSION);
  model.mutable_graph()->set_name(name);
  model.add_opset_import()->set_version(kOpset);
  for (const auto& [key, value] : metadata) {
    onnx_file::Entry& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  const size_t length = model.ByteSizeLong();
  ADJ_CHECK(length <= std::numeric_limits<int32_t>::max(),
            "ONNX: a file of {} bytes, more than the 2 GB that the format can hold", length);
  return model.SerializeAsString();
}

OnnxValue operator+(const OnnxValue& a, const OnnxValue& b) { return a.graph->node("Add", {a, b}); }
OnnxValue operator-(const OnnxValue& a, const OnnxValue& b) { return a.graph->node("Sub", {a, b}); }
OnnxValue operator*(const OnnxValue& a, const OnnxValue& b) { return a.graph->node("Mul", {a, b}); }
OnnxValue operator/(const OnnxValue& a, const OnnxValue& b) { return a.graph->node("Div", {a, b}); }
OnnxValue matmul(const OnnxValue& a, const OnnxValue& b) { return a.graph->node("MatMul", {a, b}); }
OnnxValue gather(const OnnxValue& x, const OnnxValue& rows) { return x.graph->node("Gather", {x, rows}); }

OnnxValue where(const OnnxValue& condition, const OnnxValue& a, const OnnxValue& b) {
  return condition.graph->node("Where", {condition, a, b});
}

OnnxValue concat(const std::vector<OnnxValue>& parts, int64_t axis) {
  return parts.front().graph->node("Concat", parts, {{"axis", axis}});
}

OnnxValue cast(const OnnxValue& x, DType dtype) {
  return x.graph->node("Cast", {x}, {{"to", int64_t{type_of(dtype)}}});
}

OnnxValue reshape(const OnnxValue& x, const std::vector<int64_t>& shape) {
  return x.graph->node("Reshape", {x, x.graph->integers(shape)});
}

OnnxValue unsqueeze(const OnnxValue& x, int64_t axis) {
  return x.graph->node("Unsqueeze", {x, x.graph->integers({axis})});
}

OnnxValue sum_last(const OnnxValue& x, bool keep) {
  return x.graph->node("ReduceSum", {x, x.graph->integers({-1})}, {{"keepdims", int64_t{keep}}});
}

OnnxValue shape_of(const OnnxValue& x, int64_t first, int64_t last) {
  return x.graph->node("Shape", {x}, {{"start", first}, {"end", last}});
}

OnnxValue filled(const OnnxValue& shape, float value) {
  return shape.graph->node("Expand", {shape.graph->number(value), shape});
}

}  // namespace adj::detail
