#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/models/family.h>
#include <adjoint/models/link.h>

#include <algorithm>

namespace adj::models {

LinkModel::LinkModel(std::unique_ptr<NodeModel> encoder, int64_t width, const ModelOptions& o)
    : PairModel(std::move(encoder)) {
  if (o.links.decoder == Decoder::mlp)
    mlp_.emplace(this, "decoder", std::vector<int64_t>{width, o.hidden, 1},
                 nn::MLPOptions{.dropout = static_cast<float>(o.dropout)});
}

Var LinkModel::by_mlp(const Var& z, const Tensor& src, const Tensor& dst) const {
  return (*mlp_)(index_select(z, src) * index_select(z, dst));
}

Var LinkModel::scores(const Var& z, const Relation& pairs) const {
  if (!mlp_) return reshape(edge_dot(pairs, z, z), {pairs.num_edges(), 1});
  const EdgeIndex ends = pairs.edge_index();
  return by_mlp(z, ends.src, ends.dst);
}

Tensor LinkModel::scores_of_all(const Tensor& z, const Relation& pairs) const {
  constexpr int64_t kAtOnce = 1 << 16;
  const NoGrad no_grad;
  const Var of_nodes(z);
  if (!mlp_) return scores(of_nodes, pairs).value();
  const EdgeIndex ends = pairs.edge_index();
  Tensor all = Tensor::empty({pairs.num_edges(), 1}, z.dtype(), z.device());
  for (int64_t begin = 0; begin < pairs.num_edges(); begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, pairs.num_edges());
    Tensor part = all.rows(begin, end);
    part.copy_(by_mlp(of_nodes, ends.src.rows(begin, end), ends.dst.rows(begin, end)).value());
  }
  return all;
}

std::string LinkModel::describe() const {
  return fmt::format("{}, {}", encoder().describe(), mlp_ ? "MLP decoder" : "inner product");
}

std::vector<std::string> encoder_names() { return {"gcn", "sage", "gat"}; }

std::vector<std::string> typed_encoder_names() { return {"rgcn", "rgat", "hgt"}; }

std::vector<ModelOption> encoder_options() {
  return {model_option("embedding"), model_option("aggr", "aggregation of sage: mean, max or pool"),
          model_option("heads"), model_option("attention-dropout")};
}

ModelFamily encoder_family(const std::string& model) {
  if (model.empty() || model == "gcn") return gcn();  // the first
  if (model == "rgcn" || model == "rgat") return rgcn();
  return model == "sage" ? sage() : model == "hgt" ? hgt() : gat();
}

void check_encoder(const ModelOptions& o) { encoder_family(o.model).check(o); }

int64_t embedding_width(const ModelOptions& o) {
  return o.links.embedding > 0 ? o.links.embedding : o.hidden;
}

namespace {

std::unique_ptr<Model> make_link(int64_t in, int64_t, const ModelOptions& o) {
  const int64_t width = embedding_width(o);
  return std::make_unique<nn::Model<LinkModel>>(encoder_family(o.model).make_as<NodeModel>(in, width, o),
                                                width, o);
}

}  // namespace

ModelFamily link() {
  std::vector<ModelOption> options = encoder_options();
  options.insert(options.begin() + 1, model_option("decoder"));
  for (const auto& [name, before] : {std::pair("bases", "0"), {"inputs", "auto"}}) {
    options.push_back(model_option(name));
    options.back().before = before;
  }
  std::vector<std::string> names = encoder_names();
  for (const std::string& name : typed_encoder_names()) names.push_back(name);
  return {"train_link", names,
          options,      check_encoder,
          make_link,    {.hidden = 128, .dropout = 0.0, .links = {.embedding = 64}},
          false,        typed_encoder_names()};
}

}  // namespace adj::models
