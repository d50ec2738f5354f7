#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/gcn_norm.h>

namespace adj::nn {

GcnNorm::GcnNorm(const char* layer, const Graph& graph, const GcnNormOptions& options,
                 const Var& edge_weight) {
  const bool loops = options.normalize && options.add_self_loops;
  if (!edge_weight) {
    const float loop_weight = !loops ? 0.0f : options.improved ? 2.0f : 1.0f;
    matrix_ = options.normalize ? graph.gcn_adjacency(loop_weight) : graph.adjacency();
    return;
  }
  ADJ_CHECK(edge_weight.shape() == Shape{graph.num_edges()} && edge_weight.device() == graph.device(),
            "{}: edge_weight is {}, expected [{}] on {}", layer, edge_weight.value().str(), graph.num_edges(),
            graph.device().str());
  relation_ = graph.relation();
  weight_ = edge_weight;
  if (loops) {
    const LoopedRelation looped = adj::with_self_loops(relation_, SelfLoops::completed);
    const Tensor fill =
        Tensor::full({looped.loops}, options.improved ? 2.0 : 1.0, edge_weight.dtype(), edge_weight.device());
    weight_ = adj::with_self_loops(looped, edge_weight, fill);
    relation_ = looped.relation;
  }
  if (options.normalize)
    inverse_root_ = reshape(inverse_sqrt(edge_sum(relation_, weight_)), {graph.num_nodes(), 1});
}

Var GcnNorm::operator()(const Var& x, const Var& bias, Activation activation) const {
  if (!weight_) return spmm(matrix_, x, bias, activation);
  const auto normalised = [&](const Var& h) {
    return inverse_root_ ? h * cast(inverse_root_, h.dtype()) : h;
  };
  Var y = normalised(aggregate(relation_, normalised(x), {.weight = weight_}));
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
