#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/nn/conv/cheb_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

namespace {

/// L̂ as an operation on features: y = diagonal ⊙ x + factor * left ⊙ A (right ⊙ x). Node factors are applied
/// to the features, so that weights with a gradient need no other tensor of the edges' size.
class ScaledLaplacian {
 public:
  ScaledLaplacian(const Structure& structure, Laplacian kind, const ChebConvCall& call, DType dtype) {
    const Relation& edges = structure.relation();
    const LoopedRelation bare = adj::with_self_loops(edges, SelfLoops::removed);
    relation_ = bare.relation;
    Var weight = call.edge_weight;
    if (weight) {
      ADJ_CHECK(weight.shape() == Shape{edges.num_edges()} && weight.device() == edges.device(),
                "ChebConv: edge_weight is {}, expected [{}] on {}", weight.value().str(), edges.num_edges(),
                edges.device().str());
    } else {
      weight = structure.graph() && structure.graph()->edge_weight()
                   ? structure.graph()->edge_weight()
                   : Tensor::full({edges.num_edges()}, 1.0, DType::f32, edges.device());
      weight = cast(weight, accumulator_dtype(dtype));
    }
    weight_ = adj::with_self_loops(bare, weight);
    const Var degree = reshape(edge_sum(relation_.reversed(), weight_), {edges.num_dst(), 1});
    const double lambda = call.lambda_max.value_or(2.0);
    ADJ_CHECK(lambda > 0.0, "ChebConv: expected a positive lambda_max, got {}", lambda);
    if (kind == Laplacian::plain) {
      if (call.lambda_max) {
        diagonal_ = cast(degree * (2.0 / lambda) - 1.0, dtype);
        factor_ = -2.0 / lambda;
      } else {
        RankScope::refuse("ChebConv with the plain Laplacian and without lambda_max");
        ADJ_CHECK(edges.num_dst() > 0, "ChebConv: no largest degree of a graph without nodes");
        // 2 / λ_max with λ_max twice the largest degree; 0 without edges.
        const Var root = inverse_sqrt(reshape(adj::max(degree, 0).values, {1, 1}));
        const Var scale = root * root;
        diagonal_ = cast(degree * scale - 1.0, dtype);
        left_ = cast(scale, dtype);
        factor_ = -1.0;
      }
      return;
    }
    shift_ = 2.0 / lambda - 1.0;
    factor_ = -2.0 / lambda;
    const Var root = inverse_sqrt(degree);
    right_ = cast(kind == Laplacian::symmetric ? root : root * root, dtype);
    if (kind == Laplacian::symmetric) left_ = right_;
  }

  /// scale * L̂ x.
  Var operator()(const Var& x, double scale) const {
    const Var neighbours = aggregate(relation_, right_ ? x * right_ : x, {.weight = weight_});
    const Var scaled = left_ ? neighbours * left_ : neighbours;
    if (diagonal_) return linear_combination(scale, x * diagonal_, scale * factor_, scaled);
    return linear_combination(scale * shift_, x, scale * factor_, scaled);
  }

 private:
  Relation relation_;
  Var weight_, left_, right_, diagonal_;
  double factor_ = 0.0, shift_ = 0.0;
};

}  // namespace

ChebConv::ChebConv(int64_t in, int64_t out, int K, const ChebConvOptions& options)
    : normalization_(options.normalization) {
  ADJ_CHECK(in > 0 && out > 0 && K >= 1, "ChebConv: expected positive widths and K, got {} -> {}, K={}", in,
            out, K);
  for (int k = 0; k < K; ++k) lins.add(in, out, LinearOptions{.bias = false});
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

// Clenshaw's rule: B_k = Z_k + 2 L̂ B_k+1 - B_k+2 with Z_k = X W_k; the sum is Z_0 + L̂ B_1 - B_2.
template <class X>
Var ChebConv::after_product(const Structure& structure, const X& x, const ChebConvCall& call) const {
  if (lins.size() == 1) return linear(x, lins[0].weight, bias);
  const ScaledLaplacian laplacian(structure, normalization_, call, lins[0].weight.dtype());
  Var next = lins.back()(x), after_next;
  for (size_t k = lins.size() - 2; k > 0; --k) {
    Var b = lins[k](x) + laplacian(next, 2.0);
    if (after_next) b = b - after_next;
    after_next = std::move(next);
    next = std::move(b);
  }
  const Var y = linear(x, lins[0].weight, bias) + laplacian(next, 1.0);
  return after_next ? y - after_next : y;
}

Var ChebConv::operator()(const Structure& structure, const Sides& features, const ChebConvCall& call) const {
  structure.check_one_set("ChebConv");
  if (const Features* x = features.compact("ChebConv", structure)) return after_product(structure, *x, call);
  const Var x = features.dense(*this).of_sources("ChebConv", structure).src;
  const Var& first = lins[0].weight;
  if (first.size(0) > first.size(1) || lins.size() == 1) return after_product(structure, x, call);
  const ScaledLaplacian laplacian(structure, normalization_, call, x.dtype());
  Var y = linear(x, first, bias), before = x, last = laplacian(x, 1.0);
  y = y + lins[1](last);
  for (size_t k = 2; k < lins.size(); ++k) {
    Var next = laplacian(last, 2.0) - before;
    y = y + lins[k](next);
    before = std::move(last);
    last = std::move(next);
  }
  return y;
}

std::string ChebConv::describe() const {
  return fmt::format("ChebConv({} -> {}, K={})", lins[0].weight.size(0), lins[0].weight.size(1), lins.size());
}

}  // namespace adj::nn
