#pragma once

#include <adjoint/data/typed_dataset.h>

#include <map>
#include <string>
#include <vector>

namespace adj {

/// A knowledge graph: triples of head, relation and tail over named entities.
struct Triples {
  std::string name;                              ///< as Dataset::name
  std::vector<std::string> entities, relations;  ///< names by number, distinct
  Tensor train, val, test;                       ///< int32 [*,3] each: head, relation, tail
  int64_t passed_over = 0;                       ///< edges that no part of the split has

  int64_t num_entities() const { return std::ssize(entities); }    ///< those of all triples, and further ones
  int64_t num_relations() const { return std::ssize(relations); }  ///< likewise
};

/// The edges of all types as triples: the types are the relations, by name (by "person:knows:person" where
/// two types have one name), and the nodes of all types together the entities, by name or id, else by number;
/// with their type before them ("person:7") where a name would be there twice. Parts are those of the edges'
/// first split, in the order of types and numbers; types without a split are of the part `train`. Throws
/// DataError naming `path` if there is no edge.
Triples triples_of(const TypedDataset& data, const std::string& path);

/// Moves shares `val` and `test` of the training triples, drawn by `seed`, to these parts, which must be
/// empty. Throws DataError if a part would be empty.
void split_triples(Triples& triples, double val, double test, uint64_t seed);

/// Numbers by name. Throws DataError.
class NameNumbers {
 public:
  /// `thing`: what has the names, "entity".
  NameNumbers(const std::vector<std::string>& names, std::string thing);
  /// Throws DataError beginning with `where` for an unknown name, with the nearest one.
  int32_t number(const std::string& name, const std::string& where) const;

 private:
  const std::vector<std::string>& names_;
  std::string thing_;
  std::map<std::string_view, int32_t> numbers_;
};

/// True entities of queries (entity, relation): those of query `rows[i]` are ids[offsets[rows[i]]] to
/// ids[offsets[rows[i] + 1]], ascending; int64, int32, int32.
struct KnownEntities {
  Tensor offsets, ids, rows;
};
/// For each of `triples`, whose rows are those of its result: the tails of its head and relation in all of
/// `known`, or with `heads` the heads of its tail and relation. All int32 [*,3] on the CPU.
KnownEntities known_entities(const Tensor& triples, const std::vector<Tensor>& known, bool heads);

/// A weight of each of `triples` (int32 [N,3] on the CPU), float32 [N]: 1 / √(tails + heads + 6), of the
/// tails that its head and relation have among them, and the heads of its relation and tail, scaled to a mean
/// of 1 (Sun et al. 2019, whose code counts from 4). Frequent queries weigh less, as each of their answers is
/// one of many.
Tensor frequency_weights(const Tensor& triples);

}  // namespace adj
