#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/nn/conv/gcn_norm.h>

#include <cmath>

namespace adj::nn {

namespace {

/// The edges and their weights (absent: ones), and D^-1/2 of targets and sources.
struct Normalised {
  Relation relation;
  Var weight, target_root, source_root;
};

/// Weight of the added loops; 0: none.
double loop_weight_of(const GcnNormOptions& options) {
  if (!options.normalize || !options.add_self_loops) return 0.0;
  return options.improved ? 2.0 : 1.0;
}

Normalised normalised(const char* layer, const Relation& relation, const GcnNormOptions& options,
                      const Var& edge_weight) {
  if (!options.normalize) return {relation, edge_weight, {}, {}};
  const int64_t sources = relation.num_src(), targets = relation.num_dst();
  const double loop_weight = loop_weight_of(options);
  ADJ_CHECK(
      targets == sources || (targets < sources && options.add_self_loops),
      "{}: no degrees of the sources of a relation of {} sources and {} targets, expected targets among "
      "the sources, and added self-loops",
      layer, sources, targets);
  Normalised made{relation, edge_weight, {}, {}};
  if (options.add_self_loops) {
    const LoopedRelation looped = adj::with_self_loops(relation, SelfLoops::completed);
    const Tensor fill = Tensor::full({looped.loops}, loop_weight, edge_weight.dtype(), edge_weight.device());
    made.weight = adj::with_self_loops(looped, edge_weight, fill);
    made.relation = looped.relation;
  }
  made.target_root = made.source_root =
      reshape(inverse_sqrt(edge_sum(made.relation, made.weight)), {targets, 1});
  if (targets < sources)
    made.source_root =
        cat({made.target_root, Tensor::full({sources - targets, 1}, std::pow(loop_weight, -0.5),
                                            made.target_root.dtype(), relation.device())});
  return made;
}

/// Matrix of a relation without weights, cached with it.
struct GcnMatrix {
  SparseMatrix matrix;
  GcnMatrix carried_to(adj::detail::Carrier& carrier) const { return {matrix.carried_to(carrier)}; }
};

SparseMatrix matrix_of(const char* layer, const Relation& relation, const GcnNormOptions& options) {
  if (!options.normalize) return SparseMatrix(relation);
  return relation.cache()
      .get<GcnMatrix>(static_cast<int64_t>(loop_weight_of(options)),
                      [&] {
                        const Var ones =
                            Tensor::full({relation.num_edges()}, 1.0, DType::f32, relation.device());
                        const Normalised a = normalised(layer, relation, options, ones);
                        const auto [src, dst] = a.relation.edge_index();
                        const Var roots = index_select(a.target_root, dst) * index_select(a.source_root, src);
                        return new GcnMatrix{
                            SparseMatrix(a.relation, (a.weight * reshape(roots, a.weight.shape())).value())};
                      })
      ->matrix;
}

}  // namespace

GcnNorm::GcnNorm(const char* layer, const Structure& on, const GcnNormOptions& options,
                 const Var& edge_weight) {
  const Relation& relation = on.relation();
  if (!edge_weight) {
    matrix_ = on.graph() == nullptr ? matrix_of(layer, relation, options)
              : options.normalize   ? on.graph()->gcn_adjacency(static_cast<float>(loop_weight_of(options)))
                                    : on.graph()->adjacency();
    return;
  }
  ADJ_CHECK(edge_weight.shape() == Shape{relation.num_edges()} && edge_weight.device() == relation.device(),
            "{}: edge_weight is {}, expected [{}] on {}", layer, edge_weight.value().str(),
            relation.num_edges(), relation.device().str());
  Normalised a = normalised(layer, relation, options, edge_weight);
  relation_ = std::move(a.relation);
  weight_ = std::move(a.weight);
  inverse_root_ = std::move(a.target_root);
  source_root_ = std::move(a.source_root);
}

Var GcnNorm::operator()(const Var& x, const Var& bias, Activation activation) const {
  if (!weight_) return spmm(matrix_, x, bias, activation);
  const auto times = [](const Var& h, const Var& root) { return root ? h * cast(root, h.dtype()) : h; };
  Var y = times(aggregate(relation_, times(x, source_root_), {.weight = weight_}), inverse_root_);
  if (bias) y = y + bias;
  return activate(activation, y);
}

void GcnNorm::drop_entries(float p) {
  if (weight_) {
    weight_ = adj::dropout(weight_, p);
    return;
  }
  const Tensor values = matrix_.values()
                            ? matrix_.values()
                            : Tensor::full({matrix_.entries()}, 1.0, DType::f32, matrix_.device());
  matrix_ = matrix_.with_values(adj::dropout(Var(values), p).value());
}

}  // namespace adj::nn
