#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/triple.h>
#include <adjoint/models/light_gcn.h>
#include <adjoint/nn/conv/gcn_norm.h>

namespace adj::models {

LightGCN::LightGCN(int64_t users, int64_t items, const LightGCNOptions& options)
    : embedding(this, "embedding", users + items, options.width), users_(users), alphas_(options.alphas) {
  ADJ_CHECK(users >= 1 && items >= 1, "LightGCN: {} users and {} items, expected 1 or more", users, items);
  ADJ_CHECK(options.layers >= 0, "LightGCN: {} layers, expected 0 or more", options.layers);
  const auto weights = static_cast<size_t>(options.layers) + 1;
  if (alphas_.empty()) alphas_.assign(weights, 1.0 / static_cast<double>(weights));
  ADJ_CHECK(alphas_.size() == weights,
            "LightGCN: {} alphas for {} layers, expected {}, one of the learnt vectors first", alphas_.size(),
            options.layers, weights);
}

Var LightGCN::operator()(const Graph& graph) const {
  ADJ_CHECK(graph.num_nodes() == embedding.weight.size(0),
            "LightGCN: a graph of {} nodes, expected {} users and {} items", graph.num_nodes(), users_,
            num_items());
  const nn::GcnNorm a("LightGCN", graph, {.add_self_loops = false});
  Var x = embedding.weight, y = scale(x, alphas_[0]);
  for (size_t l = 1; l < alphas_.size(); ++l) {
    x = a(x);
    y = linear_combination(1.0, y, alphas_[l], x);
  }
  return y;
}

Var LightGCN::loss(const Graph& graph, const Tensor& rows, double penalty) const {
  ADJ_CHECK(rows && rows.numel() > 0 && rows.numel() % 3 == 0,
            "LightGCN: rows are {}, expected users, items and other items, as many of each", rows.str());
  const int64_t batch = rows.numel() / 3;
  const Var y = index_select((*this)(graph), rows);
  const auto part = [&](int64_t k) { return narrow(y, 0, k * batch, batch); };
  const auto score = [&](int64_t k) { return sum(part(0) * part(k), 1); };
  const Var ranking = bpr_loss(score(1), score(2));
  if (penalty == 0.0) return ranking;
  return ranking +
         power_sum(index_select(embedding.weight, rows), 2, false, penalty / static_cast<double>(batch));
}

std::string LightGCN::describe() const {
  return fmt::format("LightGCN {} users, {} items, width {}, {} layers", users_, num_items(),
                     embedding.weight.size(1), alphas_.size() - 1);
}

Var bpr_loss(const Var& positive, const Var& negative) {
  const Var difference = positive - negative;
  return bce_with_logits(difference,
                         Tensor::full(difference.shape(), 1.0, difference.dtype(), difference.device()));
}

}  // namespace adj::models
