#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/graph/ranks/rank_edges.h>

namespace adj {

/// While it is alive, this thread computes one rank's rows, and what goes over all rows goes over all ranks:
/// losses are means over the rows of all, batch norms have the statistics of all, and dropout draws by the
/// row's place among all. Every rank has its own scope and makes the same calls. Scopes nest.
///
///   run_ranks(devices, [&](const Group& group) {
///     const RankScope rank({group, RowCut(graph.in_edges().offsets)});
///     const Graph part = graph.rank_rows(rank.rows());
///     optim::GradientSums sums(model.parameters(), group);
///     … the usual loop over `part` and this rank's rows of features and labels …
///   });
class RankScope {
 public:
  explicit RankScope(RankRows rows);
  /// For mini-batches, of each of which a rank has its share (LoaderOptions::rank).
  explicit RankScope(Group group);
  ~RankScope();
  RankScope(const RankScope&) = delete;
  RankScope& operator=(const RankScope&) = delete;

  const RankRows& rows() const { return rows_; }
  /// That of the calling thread's innermost scope, if there are several ranks; else null.
  static const RankRows* current();
  /// The same, also if there is one rank.
  static const RankRows* innermost();
  /// The same, if sums go by parts (RankRows::by_parts); else null.
  static const RankRows* by_parts();
  /// What is derived from the scope's rows; throws Error outside of one.
  static KeyedCache& cache();
  /// For what would take this rank's rows for all: throws Error, naming it, within such a scope.
  static void refuse(const char* what);

 private:
  RankRows rows_;
  const RankScope* outer_;
  mutable KeyedCache cache_;
};

}  // namespace adj
