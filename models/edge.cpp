#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/models/edge.h>

#include <algorithm>

namespace adj::models {

EdgeModel::EdgeModel(std::unique_ptr<NodeModel> encoder, int64_t width, int64_t outputs,
                     const ModelOptions& o)
    : PairModel(std::move(encoder)),
      edge_dim_(o.edge_dim),
      dropout_(static_cast<float>(o.dropout)),
      source_(this, "source", width, o.hidden),
      target_(this, "target", width, o.hidden, nn::LinearOptions{.bias = false}),
      output_(this, "output", o.hidden, outputs) {
  if (edge_dim_ > 0)
    attributes_.emplace(this, "attributes", edge_dim_, o.hidden, nn::LinearOptions{.bias = false});
}

EdgeSupport EdgeModel::edge_support() const {
  EdgeSupport support = encoder().edge_support();
  support.attributes = true;
  return support;
}

Var EdgeModel::outputs(const Var& z, const EdgeIndex& edges, const Tensor& attributes) const {
  const Var x = dropout(z, dropout_);
  Var y = index_select(source_(x), edges.src) + index_select(target_(x), edges.dst);
  if (attributes_) y = y + (*attributes_)(Var(attributes.to(z.dtype())));
  return output_(dropout(relu(y), dropout_));
}

Tensor EdgeModel::outputs_of_all(const Tensor& z, const Graph& graph) const {
  constexpr int64_t kAtOnce = 1 << 16;
  const NoGrad no_grad;
  const EdgeIndex ends = graph.edge_index();
  const Tensor attributes = attributes_of(graph);
  Tensor all = Tensor::empty({graph.num_edges(), output_.weight.size(1)}, z.dtype(), z.device());
  for (int64_t begin = 0; begin < graph.num_edges(); begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, graph.num_edges());
    Tensor part = all.rows(begin, end);
    part.copy_(outputs(Var(z), {ends.src.rows(begin, end), ends.dst.rows(begin, end)},
                       attributes ? attributes.rows(begin, end) : Tensor())
                   .value());
  }
  return all;
}

Tensor EdgeModel::attributes_of(const Graph& graph, const Tensor& index) const {
  if (edge_dim_ == 0) return {};
  const Tensor& all = graph.edge_attr("attr");
  return index ? detail::gather_edges(all, index) : all;
}

std::string EdgeModel::describe() const {
  return fmt::format("{}, MLP of edges{}", encoder().describe(),
                     edge_dim_ > 0 ? fmt::format(" with {} attributes", edge_dim_) : "");
}

namespace {

std::unique_ptr<Model> make_edge(int64_t in, int64_t out, const ModelOptions& o) {
  const int64_t width = embedding_width(o);
  return std::make_unique<nn::Model<EdgeModel>>(encoder_family(o.model).make_as<NodeModel>(in, width, o),
                                                width, out, o);
}

}  // namespace

ModelFamily edge() {
  return {"train_edge",  encoder_names(), encoder_options(),
          check_encoder, make_edge,       {.hidden = 64, .dropout = 0.0, .links = {.embedding = 64}},
          false};
}

}  // namespace adj::models
