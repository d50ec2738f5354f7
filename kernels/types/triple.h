#pragma once

#include <array>
#include <cstdint>

namespace adj {

/// How a head and a relation become a query q, and how q meets an entity t. Vectors of complex numbers are
/// [real parts | imaginary parts].
enum class TripleModel : uint8_t {
  transe,    ///< q = h + r, -‖q - t‖ (Bordes et al. 2013)
  distmult,  ///< q = h ∘ r, q·t (Yang et al. 2015)
  complex,   ///< q = h ∘ r of complex numbers, Re(q·t̄) (Trouillon et al. 2016)
  rotate,    ///< q = h ∘ e^{i r}, -Σ |q - t| (Sun et al. 2019)
  rescal,    ///< q = h R, q·t (Nickel et al. 2011)
};
constexpr auto names_of(TripleModel) {
  return std::array{"transe", "distmult", "complex", "rotate", "rescal"};
}  ///< on command lines

/// The score of a query q and an entity t.
enum class TripleScore : uint8_t {
  dot,      ///< q·t
  l1,       ///< -Σ |q - t|
  l2,       ///< -√Σ (q - t)²
  modulus,  ///< -Σ |q - t| of complex numbers
};

/// Whether the vectors are of complex numbers; their width is even then.
constexpr bool is_complex(TripleModel model) {
  return model == TripleModel::complex || model == TripleModel::rotate;
}
/// Numbers of a relation whose entities have `width`.
constexpr int64_t relation_width(TripleModel model, int64_t width) {
  return model == TripleModel::rescal ? width * width : model == TripleModel::rotate ? width / 2 : width;
}

/// The loss of a query over all entities, or over its target and some that are drawn.
enum class TripleLoss : uint8_t {
  softmax,  ///< cross-entropy of the softmax; of several targets their mean
  bce,      ///< binary cross-entropy of each entity
};
constexpr auto names_of(TripleLoss) { return std::array{"softmax", "bce"}; }  ///< on command lines

namespace kernels {

/// A loss of each query with its true entity and some that were drawn. `softmax`: -log of the true one's
/// share of the softmax of all. `bce`: softplus(-(margin + y)) + Σ_k w_k softplus(margin + n_k), with the
/// weights w = softmax(temperature n), which take no gradient (self-adversarial; Sun et al. 2019, eq. 5 and
/// 6); a temperature of 0 weighs all alike, 1 / K.
struct DrawnLossRule {
  TripleLoss kind = TripleLoss::softmax;  ///< which of the two
  double margin = 0.0;                    ///< added to every score
  double temperature = 0.0;               ///< of the weights
};

}  // namespace kernels
}  // namespace adj
