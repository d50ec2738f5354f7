#include <adjoint/kernels/triple/batches.h>
#include <adjoint/training/detail/most_scores.h>
#include <adjoint/training/triple_ranks.h>

#include <algorithm>

namespace adj::training {

namespace {

/// Column `column` of triples.
std::vector<int32_t> column_of(const Tensor& triples, size_t column) {
  const std::vector<int32_t> numbers = triples.to_vector<int32_t>();
  std::vector<int32_t> found;
  for (size_t k = column; k < numbers.size(); k += 3) found.push_back(numbers[k]);
  return found;
}

}  // namespace

TripleRanking::TripleRanking(const Tensor& triples, const std::vector<Tensor>& known, Device device)
    : relation_(Tensor::from(column_of(triples, 1), device)),
      tails_(side(triples, known, false, device)),
      heads_(side(triples, known, true, device)) {}

TripleRanking::Side TripleRanking::side(const Tensor& triples, const std::vector<Tensor>& known, bool heads,
                                        Device device) const {
  Side found{Tensor::from(column_of(triples, heads ? 2 : 0), device),
             Tensor::from(column_of(triples, heads ? 0 : 2), device),
             known_entities(triples, known, heads),
             {}};
  const std::vector<int64_t> offsets = found.known.offsets.to_vector<int64_t>();
  const std::vector<int32_t> ids = found.known.ids.to_vector<int32_t>(),
                             rows = found.known.rows.to_vector<int32_t>(),
                             asked = found.asked.to_vector<int32_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t first = offsets[static_cast<size_t>(rows[i])],
                  last = offsets[static_cast<size_t>(rows[i]) + 1];
    const bool itself = std::binary_search(ids.begin() + first, ids.begin() + last, asked[i]);
    found.others.push_back(last - first - (itself ? 1 : 0));
  }
  found.known = {found.known.offsets.to(device), found.known.ids.to(device), found.known.rows.to(device)};
  return found;
}

TripleRanks TripleRanking::rank(const models::TripleEmbedding& model) const {
  const int64_t triples = size(), entities = model.entity().size(0);
  ADJ_CHECK(triples > 0, "ranks: no triples");
  const Device device = relation_.device();
  const int64_t step = std::clamp<int64_t>(most_scores(device) / entities, 1, triples);
  TripleRanks found;
  double excess = 0.0,
         expected = 0.0;  // Σ (rank - 1), and what random scores would have, Σ (candidates - 1) / 2
  for (const bool heads : {false, true}) {
    const Side& side = heads ? heads_ : tails_;
    Tensor better = Tensor::empty({triples}, DType::i32, device), ties = Tensor::empty_like(better);
    for (int64_t begin = 0; begin < triples; begin += step) {
      const int64_t end = std::min(triples, begin + step);
      const Tensor y = model.scores(side.query.rows(begin, end), relation_.rows(begin, end), heads);
      const Tensor rows = side.known.rows.rows(begin, end);
      Tensor some_better = better.rows(begin, end), some_ties = ties.rows(begin, end);
      kernels::entity_ranks({.y = y,
                             .entity = side.asked.rows(begin, end),
                             .known = {side.known.offsets, side.known.ids, rows},
                             .better = some_better,
                             .ties = some_ties});
    }
    const std::vector<int32_t> above = better.to_vector<int32_t>(), equal = ties.to_vector<int32_t>();
    for (size_t i = 0; i < above.size(); ++i) {
      const double rank = 1.0 + above[i] + equal[i] / 2.0;
      found.mrr += 1.0 / rank;
      found.hits_1 += rank <= 1.0;
      found.hits_3 += rank <= 3.0;
      found.hits_10 += rank <= 10.0;
      excess += rank - 1.0;
      expected += static_cast<double>(entities - side.others[i] - 1) / 2.0;
    }
  }
  found.count = 2 * triples;
  const auto all = static_cast<double>(found.count);
  for (double* sum : {&found.mrr, &found.hits_1, &found.hits_3, &found.hits_10}) *sum /= all;
  found.mean = 1.0 + excess / all;
  found.amri = expected > 0.0 ? 1.0 - excess / expected : 0.0;
  return found;
}

}  // namespace adj::training
