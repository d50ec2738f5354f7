#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/softmax.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/han_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

HANConv::HANConv(const TypedWidths& widths, int64_t out, const std::vector<EdgeType>& edges,
                 const HANConvOptions& options)
    : k_lin(this, "k_lin", out, out, LinearOptions{.initial = Initial::fan_in}),
      widths_(widths),
      out_(out),
      options_(options) {
  const int64_t heads = options.heads;
  ADJ_CHECK(heads > 0 && out % heads == 0, "HANConv: expected heads that divide {} features, got {} heads",
            out, heads);
  (void)dropout_rule(options.dropout);
  add_parameter("q", q, glorot_uniform(1, out));
  for (const auto& [type, width] : widths_)
    proj_.try_emplace(type, this, "proj_" + detail::module_name(type),
                      std::make_unique<Model<Linear>>(width, out, LinearOptions{.initial = Initial::fan_in}));
  for (const EdgeType& type : edges) {
    for (const std::string& end : {type.src, type.dst}) (void)detail::width_of("HANConv", widths_, end);
    Kind& kind = kinds_.emplace_back(Kind{type, {}, {}});
    const std::string name = detail::module_name(type);
    add_parameter("lin_src_" + name, kind.source, glorot_uniform(heads, out / heads));
    add_parameter("lin_dst_" + name, kind.target, glorot_uniform(heads, out / heads));
  }
}

TypedVars HANConv::operator()(const HeteroGraph& graph, const TypedVars& x) const {
  TypedVars mapped;
  for (const auto& [type, width] : widths_)
    mapped[type] = split_heads(
        (*proj_.at(type))(detail::features_of("HANConv", graph, x, type, width, q.dtype())), options_.heads);
  std::map<std::string, std::vector<Var>> results;
  const AttentionOptions attention{.dropout = options_.dropout, .training = training()};
  for (const Kind& kind : kinds_) {
    const bool one_set = kind.type.src == kind.type.dst;
    const Var z =
        gat_attention(graph.relation(kind.type), mapped.at(kind.type.src), kind.source, kind.target,
                      options_.negative_slope, attention, one_set ? Var() : mapped.at(kind.type.dst));
    results[kind.type.dst].push_back(relu(join_heads(z, true)));
  }
  TypedVars y;
  for (const auto& [type, parts] : results) {
    Var& sum = y[type];
    if (parts.size() == 1 || parts[0].size(0) == 0) {
      sum = parts[0];
      continue;
    }
    std::vector<Var> scores;
    for (const Var& z : parts) scores.push_back(reshape(adj::sum(q * mean(tanh(k_lin(z)), 0, true)), {1, 1}));
    const Var weight = softmax(cat(scores, 1));
    for (size_t r = 0; r < parts.size(); ++r) {
      const Var part = parts[r] * narrow(weight, 1, static_cast<int64_t>(r), 1);
      sum = sum ? sum + part : part;
    }
  }
  return y;
}

std::string HANConv::describe() const {
  return fmt::format("HANConv({} types of nodes -> {}, {} relations, heads={})", widths_.size(), out_,
                     kinds_.size(), options_.heads);
}

}  // namespace adj::nn
