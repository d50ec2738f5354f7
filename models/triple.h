#pragma once

#include <adjoint/autograd/triple.h>
#include <adjoint/nn/module.h>

#include <string>

namespace adj::models {

/// Options of TripleEmbedding. `width`: numbers of an entity's vector, for complex numbers twice as many as
/// these. `norm` of TransE: 1 or 2. `reciprocal`: a second vector for each relation asks for heads (Lacroix
/// et al. 2018), instead of the same one inversely. `deviation` of the entities' initial normal numbers, and
/// of the relations' (RotatE: uniform angles).
struct TripleModelOptions {
  TripleModel model = TripleModel::complex;  ///< how a triple is scored
  int64_t width = 200;
  int64_t norm = 1;
  bool reciprocal = true;
  double deviation = 1e-3;
};

/// Vectors of entities and relations, which score triples.
class TripleEmbedding : public nn::Module {
 public:
  /// Draws initial numbers from the default generator. Throws adj::Error for options out of range.
  TripleEmbedding(int64_t entities, int64_t relations, const TripleModelOptions& options);

  const Var& entity() const { return entity_; }      ///< [entities, width]
  const Var& relation() const { return relation_; }  ///< [relations, relation_width()], reciprocals behind
  const TripleModelOptions& options() const { return options_; }  ///< as constructed
  TripleScore score() const;                                      ///< of a query and an entity
  int64_t num_relations() const { return relations_; }            ///< without reciprocals

  /// [Q,E]: scores of all entities as tails of the triples' heads, or with `heads` as heads of their tails,
  /// without gradients. `known` and `relation`: int32 [Q] on the model's device.
  Tensor scores(const Tensor& known, const Tensor& relation, bool heads) const;
  std::string describe() const override;

 private:
  TripleModelOptions options_;
  int64_t relations_;
  nn::Parameter entity_, relation_;
};

}  // namespace adj::models
