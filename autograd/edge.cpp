#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/graph/relation.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/edge/edge.h>
#include <adjoint/kernels/tiles/sparse_product.h>

namespace adj {

void detail::mean_weights(const Relation& relation, bool of_list, const Tensor& w, Tensor& y) {
  if (of_list) {
    kernels::coo_mean({.row = relation.edge_index().dst, .degree = relation.in_degrees(), .w = w, .y = y});
  } else {
    kernels::edge_mean({.a = by_target(relation), .w = w, .y = y});
  }
}

namespace {

struct MeanFactors {
  Tensor factor;
  MeanFactors carried_to(detail::Carrier& carrier) const { return {carrier.carry(factor)}; }
};

}  // namespace

Tensor detail::mean_factors(const Relation& relation, DType features) {
  const DType accumulator = accumulator_dtype(features);
  const bool of_list = relation.scatters(features);
  const auto make = [&] {
    Tensor factor =
        Tensor::empty({of_list ? relation.num_edges() : relation.num_dst()}, accumulator, relation.device());
    of_list ? mean_weights(relation, true, {}, factor)
            : kernels::mean_factors({.a = relation.csr(), .y = factor});
    return new MeanFactors{factor};
  };
  return relation.cache().get<MeanFactors>(2 * static_cast<int64_t>(accumulator) + of_list, make)->factor;
}

namespace {

// Y = act(A X + bias), or with the adjoint of A. Of a rank's part, X has the rows of other ranks, too.
void matrix_product(const SparseMatrix& a, bool adjoint, const Tensor& x, const Tensor& bias,
                    Activation activation, Tensor& y) {
  const kernels::KeptValues kept{
      [&a, adjoint, dtype = x.dtype()](const RowTiles& cut) { return a.tile_values(cut, adjoint, dtype); },
      a.has_factors()};
  const Relation edges = adjoint ? a.relation().reversed() : a.relation();
  const kernels::RowParts rows{x.size(1), x.dtype(), [&] { return edges.source_rows(x); },
                               [&](const auto& visit) {
                                 edges.source_parts(x, [&](const GatheredPart& part) {
                                   visit({part.rows, part.first, part.local, part.local_row});
                                 });
                               }};
  kernels::sparse_product("aggregate", adjoint ? a.adjoint() : a.matrix(), rows, bias, activation, y, kept);
}

}  // namespace

namespace {

// The messages w_ij x_j, [M, F] or [M, H, D], for weights [M] or [M, H], or without.
Var weighted_sources(const Relation& relation, const Var& x, const Var& weight) {
  const Var rows = index_select(x, relation.edge_index().src);
  if (!weight) return rows;
  const Var w = cast(weight, x.dtype());
  if (w.shape().dims() == 1)
    return rows * reshape(w, x.shape().dims() == 2 ? Shape{w.size(0), 1} : Shape{w.size(0), 1, 1});
  const Var by_head = reshape(rows, {rows.size(0), w.size(1), -1}) * reshape(w, {w.size(0), w.size(1), 1});
  return reshape(by_head, rows.shape());
}

}  // namespace

Var aggregate(const Relation& relation, const Var& x, const AggregateOptions& options) {
  const OpScope scope("aggregate", relation, x, options.weight);
  if (relation.is_rank_part())
    return aggregate(relation.local_edges(), detail::halo_rows(relation, x), options);
  const bool mean = options.reduce == Reduce::mean;
  detail::check_side("aggregate", "x", relation, x, relation.num_src(), 2, 3);
  const Var& edge_weight = options.weight;
  if (edge_weight) {
    detail::check_of_edges("aggregate", "weight", relation, edge_weight);
    ADJ_CHECK(x.shape().dims() == 2 || edge_weight.shape().dims() == 1 || edge_weight.size(1) == x.size(1),
              "aggregate: weight is {} for the heads of x, {}", edge_weight.shape().str(), x.shape().str());
  }
  if (const Var mask = detail::edge_mask("aggregate", relation))
    return detail::reduce_masked(relation, weighted_sources(relation, x, edge_weight), mask,
                                 {options.reduce});
  const DType accumulator = accumulator_dtype(x.dtype()),
              weights = edge_weight ? edge_weight.dtype() : accumulator;
  ADJ_CHECK(weights == accumulator || weights == x.dtype(), "aggregate: weight is {}, x is {}, expected {}",
            edge_weight.value().str(), x.value().str(),
            accumulator == x.dtype() ? "one dtype" : "float32 or bfloat16 weights");
  if (!mean && options.reduce != Reduce::sum) {
    const bool minmax = options.reduce == Reduce::max || options.reduce == Reduce::min;
    ADJ_CHECK(!edge_weight || (minmax && edge_weight.shape().dims() == 1),
              "aggregate: weight is {}, but {} takes {}", edge_weight.shape().str(), name_of(options.reduce),
              minmax ? "one weight per edge: expected [M]" : "no weights: expected a sum, mean, max or min");
    return detail::reduce_neighbors("aggregate", relation, x, {options.reduce}, edge_weight);
  }
  const Tensor wide_weight = edge_weight ? edge_weight.value().to(accumulator) : Tensor();
  const bool scatters = (!wide_weight || wide_weight.dims() == 1) && relation.scatters(x.dtype());
  const bool scales = mean && !wide_weight && !scatters;  // sums by 1 / degree, not entries
  Tensor weight = mean && !wide_weight ? detail::mean_factors(relation, x.dtype()) : wide_weight;
  if (mean && wide_weight) {
    weight = Tensor::empty_like(wide_weight);
    detail::mean_weights(relation, scatters, wide_weight, weight);
  }
  Tensor y = Tensor::empty(x.shape().with(0, relation.num_dst()), x.dtype(), x.device());
  Tensor rows = detail::as_matrix(y);
  if (scatters) {
    kernels::spmm_coo({.a = relation.coo(), .values = weight, .x = detail::as_matrix(x.value()), .y = rows});
  } else {
    kernels::sparse_product("aggregate", {.a = relation.matrix(scales ? Tensor() : weight),
                                          .x = detail::as_matrix(x.value()),
                                          .y = rows,
                                          .row_factor = scales ? weight : Tensor()});
  }
  const bool weight_learns = edge_weight && edge_weight.requires_grad();
  enum : size_t { kX, kWeight };
  return record(
      "aggregate", y, {x, edge_weight},
      [relation, mean, scatters, scales, weights, weight = weight ? Saved(weight) : Saved(),
       shape = x.shape(), x = weight_learns ? Saved(x.value()) : Saved()](Tensor dy, Gradients& out) {
        const Tensor w = weight ? weight.get() : Tensor();
        const Tensor dy_rows = detail::as_matrix(dy);
        Tensor dx = out.wanted(kX) ? Tensor::empty(shape, dy.dtype(), dy.device()) : Tensor();
        Tensor dw = out.wanted(kWeight) ? Tensor::empty_like(w) : Tensor();
        Tensor dx_rows = dx ? detail::as_matrix(dx) : Tensor();
        if (scatters && dw) {
          kernels::spmm_coo_backward({.a = relation.coo(),
                                      .values = w,
                                      .dy = dy_rows,
                                      .x = detail::as_matrix(x.get()),
                                      .dx = dx_rows,
                                      .dw = dw});
        } else if (scatters && dx) {
          kernels::spmm_coo({.a = relation.coo().transposed(), .values = w, .x = dy_rows, .y = dx_rows});
        } else if (dx && dw) {
          kernels::sparse_product_backward("aggregate", {.at = detail::by_source(relation, w),
                                                         .dy = dy_rows,
                                                         .x = detail::as_matrix(x.get()),
                                                         .dx = dx_rows,
                                                         .dw = dw});
        } else if (dw) {
          kernels::entry_products(
              "aggregate",
              {.a = detail::by_target(relation), .y = dy_rows, .x = detail::as_matrix(x.get()), .dw = dw});
        } else if (dx) {
          kernels::sparse_product(
              "aggregate", {.a = scales ? kernels::by_column(relation.transposed(), w) : relation.adjoint(w),
                            .x = dy_rows,
                            .y = dx_rows});
        }
        if (dw && mean) detail::mean_weights(relation, scatters, dw, dw);
        if (dx) out.add(kX, dx);
        if (dw) out.add(kWeight, dw.to(weights));
      });
}

Var aggregate(const SparseMatrix& matrix, const Var& x, const Var& bias, Activation activation) {
  const OpScope scope("aggregate", matrix, x, bias);
  const Relation& structure = matrix.relation();
  if (structure.is_rank_part() &&
      (!structure.knows_out_edges() || (matrix.values() && !matrix.has_kept_adjoint())))
    return aggregate(SparseMatrix(structure.local_edges(), matrix.values()), detail::halo_rows(structure, x),
                     bias, activation);
  ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == matrix.cols(),
            "aggregate: input {} does not fit a matrix of {} columns", x.shape().str(), matrix.cols());
  ADJ_CHECK(x.device() == matrix.device(), "aggregate: matrix on {}, input on {}", matrix.device().str(),
            x.device().str());
  kernels::check_fused("aggregate", activation);
  if (const Var mask = detail::edge_mask("aggregate", structure)) {
    const Var weight = matrix.values() ? Var(matrix.values()) : Var();
    const Var y =
        detail::reduce_masked(structure, weighted_sources(structure, x, weight), mask, {Reduce::sum});
    return activate(activation, bias ? y + bias : y);
  }
  const SparseMatrix a = matrix.for_features(x.dtype());
  Tensor y = Tensor::empty({a.rows(), x.size(1)}, x.dtype(), x.device());
  const bool scatters = a.relation().scatters(x.dtype());
  if (scatters) {
    kernels::spmm_coo({.a = a.relation().coo(),
                       .values = a.values(),
                       .x = x.value(),
                       .bias = bias.value_or_absent(),
                       .activation = activation,
                       .y = y});
  } else {
    matrix_product(a, false, x.value(), bias.value_or_absent(), activation, y);
  }
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  enum : size_t { kX, kBias };
  const Var result = record(
      "aggregate", y, {x, bias},
      [a, scatters, values = Saved(a.values()), y = output](Tensor dy, Gradients& out) {
        const Tensor dz = detail::through_activation(y, std::move(dy), out);
        detail::bias_gradient(dz, kBias, out);
        if (!out.wanted(kX)) return;
        (void)values.get();  // shared with the matrix: throws if modified
        Tensor dx = Tensor::empty({a.cols(), dz.size(1)}, dz.dtype(), dz.device());
        if (scatters) {
          kernels::spmm_coo({.a = a.relation().coo().transposed(), .values = a.values(), .x = dz, .y = dx});
        } else {
          matrix_product(a, true, dz, {}, Activation::none, dx);
        }
        out.add(kX, dx);
      });
  return detail::after(activation, result);
}

Var edge_dot(const Relation& relation, const Var& q, const Var& k, int64_t heads) {
  const OpScope scope("edge_dot", relation, q, k);
  if (relation.is_rank_part())
    return edge_dot(relation.local_edges(), q, detail::halo_rows(relation, k), heads);
  detail::check_side("edge_dot", "q", relation, q, relation.num_dst(), 2, 3);
  detail::check_side("edge_dot", "k", relation, k, relation.num_src(), 2, 3);
  check_same_device("edge_dot", {q, k});
  ADJ_CHECK(q.shape() == k.shape().with(0, q.size(0)), "edge_dot: q is {}, k is {}, expected equal widths",
            q.shape().str(), k.shape().str());
  if (q.shape().dims() == 3) {
    ADJ_CHECK(heads == 0 || heads == q.size(1), "edge_dot: {} heads requested for {}", heads,
              q.shape().str());
    heads = q.size(1);
  }
  const int64_t edges = relation.num_edges();
  Tensor e = Tensor::empty(heads == 0 ? Shape{edges} : Shape{edges, heads}, accumulator_dtype(q.dtype()),
                           q.device());
  kernels::entry_products("edge_dot", {.a = detail::by_target(relation),
                                       .y = detail::as_matrix(q.value()),
                                       .x = detail::as_matrix(k.value()),
                                       .dw = e});
  enum : size_t { kQ, kK };
  return record("edge_dot", e, {q, k},
                [relation, q = Saved(q.value()), k = Saved(k.value())](Tensor de, Gradients& out) {
                  const auto gradient = [](const CsrMatrix& a, const Tensor& input, const Tensor& other) {
                    Tensor dx = Tensor::empty_like(input), rows = detail::as_matrix(dx);
                    kernels::sparse_product("edge_dot", {.a = a, .x = detail::as_matrix(other), .y = rows});
                    return dx;
                  };
                  if (out.wanted(kQ))
                    out.add(kQ, gradient(detail::by_target(relation, de), q.get(), k.get()));
                  if (out.wanted(kK))
                    out.add(kK, gradient(detail::by_source(relation, de), k.get(), q.get()));
                });
}

Var edge_add(const Relation& relation, const Var& l, const Var& r) {
  const OpScope scope("edge_add", relation, l, r);
  if (relation.is_rank_part()) return edge_add(relation.local_edges(), l, detail::halo_rows(relation, r));
  detail::check_side("edge_add", "l", relation, l, relation.num_dst(), 1, 2);
  detail::check_side("edge_add", "r", relation, r, relation.num_src(), 1, 2);
  check_same_device("edge_add", {l, r});
  Tensor e = Tensor::empty(l.shape().with(0, relation.num_edges()), accumulator_dtype(l.dtype()), l.device());
  kernels::edge_add({.a = detail::by_target(relation), .l = l.value(), .r = r.value(), .e = e});
  enum : size_t { kL, kR };
  return record("edge_add", e, {l, r},
                [relation, l = l.shape(), r = r.shape(), dtype = l.dtype()](Tensor de, Gradients& out) {
                  const auto sum = [&](const CsrMatrix& a, const Shape& shape) {
                    Tensor y = Tensor::empty(shape, dtype, de.device());
                    kernels::edge_sum({.a = a, .e = de, .y = y});
                    return y;
                  };
                  if (out.wanted(kL)) out.add(kL, sum(detail::by_target(relation), l));
                  if (out.wanted(kR)) out.add(kR, sum(detail::by_source(relation), r));
                });
}

Var edge_softmax(const Relation& relation, const Var& e) {
  const OpScope scope("edge_softmax", relation, e);
  detail::check_of_edges("edge_softmax", "e", relation, e);
  const DType logits = e.dtype();
  Tensor y = Tensor::empty(e.shape(), accumulator_dtype(logits), e.device());
  kernels::edge_softmax({.a = detail::by_target(relation), .e = e.value(), .y = y});
  return record("edge_softmax", y, {e}, [relation, logits, y = Saved(y)](Tensor dy, Gradients& out) {
    Tensor de = logits == dy.dtype() ? reuse(dy) : Tensor::empty(dy.shape(), logits, dy.device());
    kernels::edge_softmax_backward({.a = detail::by_target(relation), .y = y.get(), .dy = dy, .de = de});
    out.add(de);
  });
}

Var with_self_loops(const LoopedRelation& relation, const Var& x, const Var& loops) {
  const OpScope scope("with_self_loops", x, loops);
  if (!relation.origin) return x;
  check_same_device("with_self_loops", {x, loops});
  const int64_t edges = relation.became.numel() - relation.loops;
  ADJ_CHECK((x.shape().dims() == 1 || x.shape().dims() == 2) && x.size(0) == edges,
            "with_self_loops: x is {}, expected [{}] or [{}, E]", x.shape().str(), edges, edges);
  const Shape added = x.shape().with(0, relation.loops);
  ADJ_CHECK(!loops || loops.shape() == added, "with_self_loops: loops are {}, expected {}",
            loops.shape().str(), added.str());
  const Tensor of_loops = loops ? loops.value() : Tensor::zeros(added, x.dtype(), x.device());
  const Tensor y = detail::gather_edges(detail::concatenated(x.value(), of_loops), relation.origin);
  enum : size_t { kX, kLoops };
  return record("with_self_loops", y, {x, loops},
                [became = relation.became, complete = relation.complete, edges](Tensor dy, Gradients& out) {
                  if (!complete) {
                    dy = detail::concatenated(dy,
                                              Tensor::zeros(dy.shape().with(0, 1), dy.dtype(), dy.device()));
                  }
                  if (out.wanted(kX)) out.add(kX, detail::gather_edges(dy, became.rows(0, edges)));
                  if (out.wanted(kLoops))
                    out.add(kLoops, detail::gather_edges(dy, became.rows(edges, became.numel())));
                });
}

Var edge_sum(const Relation& relation, const Var& e) {
  const OpScope scope("edge_sum", relation, e);
  if (relation.is_rank_part()) {
    if (!relation.is_reversed()) return edge_sum(relation.local_edges(), e);
    const Relation in_edges = relation.reversed();
    return detail::sum_halo_rows(in_edges, edge_sum(in_edges.local_edges().reversed(), e));
  }
  detail::check_of_edges("edge_sum", "e", relation, e);
  ADJ_CHECK(e.device() == relation.device(), "edge_sum: relation on {}, e on {}", relation.device().str(),
            e.device().str());
  const DType dtype = e.dtype(), accumulator = accumulator_dtype(dtype);
  Tensor y = Tensor::empty(e.shape().with(0, relation.num_dst()), accumulator, e.device());
  kernels::edge_sum({.a = detail::by_target(relation), .e = e.value().to(accumulator), .y = y});
  return record("edge_sum", y, {e}, [relation, dtype, shape = e.shape()](Tensor dy, Gradients& out) {
    Tensor de = Tensor::empty(shape, dy.dtype(), dy.device());
    const Tensor nothing = Tensor::zeros(shape.with(0, relation.num_src()), dy.dtype(), dy.device());
    kernels::edge_add({.a = detail::by_target(relation), .l = dy, .r = nothing, .e = de});
    out.add(de.to(dtype));
  });
}

}  // namespace adj
