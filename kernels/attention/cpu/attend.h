#pragma once

#include <adjoint/kernels/attention/cpu/passes.h>

#include <functional>

// Forward pass shared by the attentions, which differ in their logits: the logits of a span of entries, less
// their row's maximum, become exponentials in one loop, then each row accumulates its weighted values. A row
// longer than a span continues with its accumulators, rescaled when a larger logit appears (online softmax:
// Milakov & Gimelshein 2018); the pieces of a heavy row are merged the same way.
namespace adj::kernels::cpu {

/// Writes the logits of a span of entries, e [k H + h] from its first entry. Copied for each thread.
template <class T>
using SpanLogits = std::function<void(int64_t begin, std::span<const Segment> segments, T* e)>;

template <class S>
struct Attend {
  using T = Scalar<S>;
  const HeadRows<S>& g;
  EdgeRows rows;
  SpanLogits<T> logits;
  const S* values;
  bool first_to_gather;  ///< do the logits not read the values' rows?
  const T* factors;      ///< [cols,H] of the values, or null
  EdgeFeatures<T> attr;
  const AttentionDropout& dropout;
  const S* bias = nullptr;  ///< [H D], added to o, or null
  S* o;
  S* o_attr = nullptr;
  T* lse;

  /// Of rows `values`.
  template <class Args>
  Attend(const Args& args, const HeadRows<S>& head_rows, SpanLogits<T> of_spans, const S* rows_of_values,
         bool first, const T* value_factors = nullptr, const EdgeFeatures<T>& features = {})
      : g(head_rows),
        rows(args.a),
        logits(std::move(of_spans)),
        values(rows_of_values),
        first_to_gather(first),
        factors(value_factors),
        attr(features),
        dropout(args.dropout),
        o(args.o.template mutable_data<S>()),
        lse(args.lse.template mutable_data<T>()) {
    if constexpr (requires { args.bias; }) bias = data_or_null<S>(args.bias);
    if constexpr (requires { args.o_attr; }) o_attr = mutable_data_or_null<S>(args.o_attr);
  }

  /// By spans of `span` entries.
  void run(int64_t span) const;

  struct Local;
  /// State of a row: maximum logits, sums of exponentials, sums of values and of edge features.
  int64_t numbers() const { return 2 * g.heads + g.pitch + g.heads * attr.count; }
};

}  // namespace adj::kernels::cpu
