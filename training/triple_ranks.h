#pragma once

#include <adjoint/data/triples.h>
#include <adjoint/models/triple.h>

#include <vector>

namespace adj::training {

/// How triples rank among all entities, on both sides of each: the true head and the true tail by their
/// scores, without the other true triples (filtered). Ties get the mean rank.
struct TripleRanks {
  int64_t count = 0;  ///< ranks: two for each triple
  double mrr = 0.0;   ///< mean of 1 / rank
  double mean = 0.0;  ///< mean rank
  /// Adjusted mean rank index (Berrendorf et al. 2020): 1 for the best, 0 for random scores.
  double amri = 0.0;
  double hits_1 = 0.0, hits_3 = 0.0, hits_10 = 0.0;  ///< shares of ranks of at most 1, 3, 10
};

/// Ranks of some triples. The lists of known entities are made once, the rest is done on the model's device.
class TripleRanking {
 public:
  /// `triples` int32 [*,3]; `known`: all true triples.
  TripleRanking(const Tensor& triples, const std::vector<Tensor>& known, Device device);

  /// Both sides, in chunks of triples that bound the memory of scores. Throws adj::Error if there is no
  /// triple.
  TripleRanks rank(const models::TripleEmbedding& model) const;
  int64_t size() const { return relation_.numel(); }  ///< triples

 private:
  struct Side {
    Tensor query, asked;          ///< int32 [M]: entities of the query, and the true ones
    KnownEntities known;          ///< of the queries
    std::vector<int64_t> others;  ///< true entities besides the asked one, by query
  };
  Side side(const Tensor& triples, const std::vector<Tensor>& known, bool heads, Device device) const;

  Tensor relation_;  // int32 [M]
  Side tails_, heads_;
};

}  // namespace adj::training
