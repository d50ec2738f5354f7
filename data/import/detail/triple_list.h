#pragma once

#include <adjoint/data/import/growing_rows.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/typed_dataset.h>

#include <array>
#include <vector>

namespace adj::detail {

/// Edges of one relation, in the order in which they were added.
struct RelationEdges {
  EdgeIndex index;                     ///< int32 [M]: heads as sources, tails as targets
  std::array<int64_t, 3> part_counts;  ///< of each part, one part after another
};

/// Triples head, relation, tail as numbers, of up to three parts. Takes 12 bytes each, and 8 more with 16 for
/// each of the largest relation in take().
class TripleList {
 public:
  void add(int32_t head, int32_t relation, int32_t tail);  ///< to the current part, the first one at first
  /// Later triples are of the next part.
  void next_part() { part_begins_[++part_] = count_; }
  int64_t size() const { return count_; }  ///< of all parts

  /// All of them by relation, each once in a part; leaves this empty.
  std::vector<RelationEdges> take(int64_t relations);
  /// After take(): those left out, as their part has them already.
  int64_t repeated() const { return repeated_; }
  /// After take(): those that several parts have, of which each keeps its own.
  int64_t shared() const { return shared_; }

 private:
  void drop_repeats(RelationEdges& edges);

  GrowingRows<int32_t> numbers_;
  size_t part_ = 0;
  std::array<int64_t, 4> part_begins_{};
  int64_t count_ = 0, repeated_ = 0, shared_ = 0;
};

/// What the reverse of a relation is called behind its name; no IRI has this character.
inline constexpr std::string_view kInverseSuffix = "^-1";
/// The type of nodes of triples.
inline constexpr std::string_view kTripleNodes = "node";

/// A graph of one type of nodes, called `nodes`, and a type of edges for each relation, called `relations`.
/// `inverse`: also one for the reverse of each. `split`: the parts are those of the edges' splits.
TypedDataset dataset_of_triples(NodeIds& nodes, const NodeIds& relations,
                                const std::vector<RelationEdges>& edges, bool inverse, bool split);

}  // namespace adj::detail
