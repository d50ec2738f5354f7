#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/nn/conv/gcn_norm.h>

#include <cmath>

namespace adj::nn {

namespace {

/// Weight of the added loops; 0: none.
double loop_weight_of(const GcnNormOptions& options) {
  if (!options.normalize || !options.add_self_loops) return 0.0;
  return options.improved ? 2.0 : 1.0;
}

/// Matrix of a relation without weights, cached with it. Without added loops it is of that relation: only its
/// values are cached then, as a relation whose cache refers to itself would never be freed.
struct GcnMatrix {
  SparseMatrix looped;
  Tensor values;
  GcnMatrix carried_to(adj::detail::Carrier& carrier) const {
    if (looped) return {carrier.carry(looped), {}};
    return {{}, carrier.carry(values)};
  }
};

}  // namespace

GcnNorm::GcnNorm(const char* layer, const Structure& structure, const GcnNormOptions& options,
                 const Var& edge_weight)
    : relation_(structure.relation()), weight_(edge_weight) {
  if (!weight_ && structure.graph() == nullptr && structure.edge_weight()) weight_ = structure.edge_weight();
  if (!weight_) {
    matrix_ = structure.graph() == nullptr ? matrix_of(layer, relation_, options)
              : options.normalize
                  ? structure.graph()->gcn_adjacency(static_cast<float>(loop_weight_of(options)))
                  : structure.graph()->adjacency();
    return;
  }
  ADJ_CHECK(weight_.shape() == Shape{relation_.num_edges()} && weight_.device() == relation_.device(),
            "{}: edge_weight is {}, expected [{}] on {}", layer, weight_.value().str(), relation_.num_edges(),
            relation_.device().str());
  if (options.normalize) normalise(layer, options);
}

void GcnNorm::normalise(const char* layer, const GcnNormOptions& options) {
  const int64_t sources = relation_.num_src(), targets = relation_.num_dst();
  const double loop_weight = loop_weight_of(options);
  ADJ_CHECK(targets == sources || (targets < sources && options.add_self_loops),
            "{}: no degrees of the sources of a relation of {} sources and {} targets, expected targets "
            "among the sources, and added self-loops",
            layer, sources, targets);
  if (options.add_self_loops) {
    const LoopedRelation looped = adj::with_self_loops(relation_, SelfLoops::completed);
    const Tensor fill = Tensor::full({looped.loops}, loop_weight, weight_.dtype(), weight_.device());
    weight_ = adj::with_self_loops(looped, weight_, fill);
    relation_ = looped.relation;
  }
  target_root_ = source_root_ = reshape(inverse_sqrt(edge_sum(relation_, weight_)), {targets, 1});
  if (targets < sources)
    source_root_ = cat({target_root_, Tensor::full({sources - targets, 1}, std::pow(loop_weight, -0.5),
                                                   target_root_.dtype(), relation_.device())});
}

SparseMatrix GcnNorm::matrix_of(const char* layer, const Relation& relation, const GcnNormOptions& options) {
  if (!options.normalize) return SparseMatrix(relation);
  const auto make = [&] {
    const Var ones = Tensor::full({relation.num_edges()}, 1.0, DType::f32, relation.device());
    const GcnNorm a(layer, relation, options, ones);
    const auto [src, dst] = a.relation_.edge_index();
    const Var roots = index_select(a.target_root_, dst) * index_select(a.source_root_, src);
    const Tensor values = (a.weight_ * reshape(roots, a.weight_.shape())).value();
    return options.add_self_loops ? new GcnMatrix{SparseMatrix(a.relation_, values), {}}
                                  : new GcnMatrix{{}, values};
  };
  const auto kept = relation.cache().get<GcnMatrix>(static_cast<int64_t>(loop_weight_of(options)), make);
  return kept->looped ? kept->looped : SparseMatrix(relation, kept->values);
}

Var GcnNorm::operator()(const Var& x, const Var& bias, Activation activation) const {
  if (!weight_) return aggregate(matrix_, x, bias, activation);
  const auto times = [](const Var& h, const Var& root) { return root ? h * cast(root, h.dtype()) : h; };
  Var y = times(aggregate(relation_, times(x, source_root_), {.weight = weight_}), target_root_);
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
