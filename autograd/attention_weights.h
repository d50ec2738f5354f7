#pragma once

#include <adjoint/graph/relation.h>

#include <functional>
#include <vector>

namespace adj {

namespace detail {

/// Some edges of a relation: from src[k] to dst[k], int32 [K], with the attributes [K, E], which may be
/// absent.
struct EdgePart {
  Tensor src, dst, attr;
};
/// Adds the softmax of logits(part), float32 [K, heads] of each part, to this thread's record, if it has one.
void record_attention(const Relation& relation, int64_t heads, const Tensor& attr,
                      const std::function<Tensor(const EdgePart&)>& logits);

}  // namespace detail

/// The coefficients α of every attention op (autograd/attention.h) that this thread computes while the object
/// exists, in order. The ops themselves store none; here they are made a second time, without dropout and
/// gradients:
///
///   const AttentionRecord record;
///   model(graph, x);
///   record.layers()[0].weight …
///
/// An inner object takes the place of an outer one. Not within captured steps.
class AttentionRecord {
 public:
  /// One call of an attention op.
  struct Layer {
    Relation relation;  ///< with the self-loops that a layer adds
    Tensor weight;      ///< float32 [M, H] by the relation's edge numbers: α of every edge and head
  };

  AttentionRecord();
  ~AttentionRecord();
  AttentionRecord(const AttentionRecord&) = delete;
  AttentionRecord& operator=(const AttentionRecord&) = delete;

  const std::vector<Layer>& layers() const { return layers_; }

 private:
  friend void detail::record_attention(const Relation&, int64_t, const Tensor&,
                                       const std::function<Tensor(const detail::EdgePart&)>&);
  std::vector<Layer> layers_;
  AttentionRecord* outer_;
};

}  // namespace adj
