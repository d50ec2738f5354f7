// Dot-product attention: the passes of forward.cuh and backward.cuh. Edge features are E numbers per edge,
// compared with H D per node: their contribution to the logits and to ⟨dO_i, v_j⟩ is computed before a pass
// as [M,H], and the weights [M,H] that a pass outputs are reduced over rows afterwards. These are freed when
// the call returns. Saved: lse, O (and o_attr). Recomputed: the logits.

#include <adjoint/kernels/attention/cuda/edge_terms.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>

namespace adj::kernels::cuda {

namespace {

/// The edge-feature passes of one call.
template <class S>
class EdgeFeatures {
  using A = Accumulator<S>;

 public:
  EdgeFeatures(const CsrMatrix& a, int64_t heads, const Tensor& attr, const AttentionDropout& dropout)
      : a_(a),
        heads_(heads),
        features_(heads_of(attr)),
        attr_(attr),
        dropout_(dropout),
        row_(rows_of_entries(a.csr)) {}

  Tensor of_edges() const { return Tensor::empty({attr_.size(0), heads_}, dtype_of<A>(), attr_.device()); }
  Tensor products(const Tensor& u, float factor) const {
    Tensor y = of_edges();
    for_each("dot_attention", attr_.device().index, a_.csr.entries() * heads_,
             EntryProducts<S>{entries(), heads_, features_, static_cast<A>(factor), u.data<S>(),
                              attr_.data<A>(), y.mutable_data<A>()});
    return y;
  }
  void to_weights(Tensor& logits, const Tensor& lse) const {
    for_each("dot_attention", attr_.device().index, a_.csr.entries() * heads_,
             EntryWeights<A>{entries(), heads_, DropoutMask{dropout_.key, dropout_.rule.threshold},
                             static_cast<A>(dropout_.rule.scale), lse.data<A>(), logits.mutable_data<A>()});
  }
  void rows(const Tensor& w, float factor, Tensor& y) const {
    const EntryPlaces place(a_, w);
    map_edge_rows("dot_attention", a_.csr, place.heads,
                  RowsOfFeatures<S>{place, features_, static_cast<A>(factor), w.data<A>(), attr_.data<A>(),
                                    y.mutable_data<S>()});
  }
  void gradients(const Tensor& de, const Tensor& u, float factor, const Tensor& w, const Tensor& v,
                 Tensor& dattr) const {
    for_each("dot_attention", attr_.device().index, a_.csr.entries() * features_,
             EntryGradients<S>{entries(), heads_, features_, static_cast<A>(factor), de.data<A>(),
                               u.data<S>(), w.data<A>(), v.data<S>(), dattr.mutable_data<A>()});
  }

 private:
  Entries entries() const { return entries_of(a_, row_); }

  const CsrMatrix& a_;
  int64_t heads_, features_;
  const Tensor& attr_;
  const AttentionDropout& dropout_;
  Tensor row_;
};

template <class S>
void forward_with_features(const DotAttentionArgs& args) {
  const EdgeFeatures<S> features(args.a, args.heads, args.attr, args.dropout);
  EdgeTerms edges;
  edges.c = features.products(args.u, args.scale);
  edges.logits = features.of_edges();
  run_dot_attention<S>(args, edges);
  features.to_weights(edges.logits, args.lse);
  features.rows(edges.logits, 1.0f, args.o_attr);
}

template <class S>
void backward_with_features(const DotAttentionBackwardArgs& args) {
  using A = Accumulator<S>;
  const EdgeFeatures<S> features(args.a, args.heads, args.attr, args.dropout);
  EdgeTerms edges;
  edges.c = features.products(args.u, args.scale);
  edges.g = features.products(args.d_o_attr, 1.0f);
  if (args.o_attr) {
    edges.delta = Tensor::empty_like(args.delta);
    for_each("dot_attention_backward", args.a.device().index, args.delta.numel(),
             RowProducts<S>{heads_of(args.attr), args.o_attr.data<S>(), args.d_o_attr.data<S>(),
                            edges.delta.mutable_data<A>()});
  }
  if (args.dattr || args.du) edges.d_logits = features.of_edges();
  if (args.dattr) edges.weights = features.of_edges();
  run_dot_attention_backward<S>(args, edges);
  if (args.du) features.rows(edges.d_logits, args.scale, args.du);
  if (args.dattr)
    features.gradients(edges.d_logits, args.u, args.scale, edges.weights, args.d_o_attr, args.dattr);
}

}  // namespace

void dot_attention(const DotAttentionArgs& args) {
  if (args.tiles) return dot_attention_over_tiles(args);
  dispatch_features(args.q.dtype(), [&]<class S>() {
    args.attr ? forward_with_features<S>(args) : run_dot_attention<S>(args, {});
  });
}

void dot_attention_backward(const DotAttentionBackwardArgs& args) {
  if (args.tiles) return dot_attention_backward_over_tiles(args);
  dispatch_features(args.q.dtype(), [&]<class S>() {
    args.attr ? backward_with_features<S>(args) : run_dot_attention_backward<S>(args, {});
  });
}

}  // namespace adj::kernels::cuda
