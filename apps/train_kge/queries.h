#pragma once

#include <adjoint/training/triples.h>

#include <array>
#include <string>
#include <vector>

namespace adj::apps {

/// The queries of --predict: triples of names without a head or a tail.
class TripleQueries {
 public:
  /// Reads them, if there are any: a table with the columns head, relation and tail, in any order if its
  /// first line says so. Throws DataError naming file and line: another number of fields, an unknown name, a
  /// triple without a relation or with both ends.
  TripleQueries(const training::TripleOptions& options, const Triples& data);

  /// Writes --out: for each query the --top entities whose triple is not known, with rank and score.
  void write(const models::TripleEmbedding& model) const;

 private:
  struct Query {
    int32_t known, relation;  ///< entity and relation
    bool heads;               ///< asks for heads
  };
  /// An entity for a query, by its place among those that are not known.
  struct Answer {
    const Query* query;
    int32_t entity;
    int64_t rank;
    float score;
  };

  const Triples& data_;
  std::string out_;
  int64_t top_;
  std::vector<Query> queries_;
};

}  // namespace adj::apps
