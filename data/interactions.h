#pragma once

#include <adjoint/data/typed_dataset.h>
#include <adjoint/graph/graph.h>

#include <span>
#include <string>
#include <vector>

namespace adj {

/// Interactions of named users with named items: purchases, plays, ratings. Each pair once.
struct Interactions {
  std::string name;                       ///< as Dataset::name
  EdgeType type;                          ///< of the edges: from users to items
  std::vector<std::string> users, items;  ///< names by number, distinct
  Tensor train, val, test;                ///< int32 [*,2] each: user, item; by user, then item
  Tensor times;             ///< int64 [rows of train], as ItemTable::times; without a split only
  int64_t repeated = 0;     ///< edges of a pair that an earlier one has
  int64_t trained = 0;      ///< pairs to validate or test left out, as they train (or validate)
  int64_t passed_over = 0;  ///< edges that no part of the split has
  bool weighted = false;    ///< edges have weights, which are passed over

  int64_t num_users() const { return std::ssize(users); }  ///< those without interactions, too
  int64_t num_items() const { return std::ssize(items); }  ///< likewise
};

/// The edges of one type, from users to items by name or id, else by number: the type `wanted`, a name or
/// "user:rated:item", or if that is empty the only one between two types of nodes. Parts are those of the
/// edges' first split; without one all train. Of a pair's edges the earliest counts, by time or number, or of
/// a split the one that trains. Throws DataError naming `path`: no edges, no such type or several, nodes of
/// one type, names that repeat.
Interactions interactions_of(const TypedDataset& data, const std::string& path,
                             const std::string& wanted = "");

/// Which interactions of a user validate and test: random ones, or the latest, of which the last test.
enum class InteractionSplit : uint8_t { random, time };
constexpr auto names_of(InteractionSplit) { return std::array{"random", "time"}; }  ///< in options

/// Moves of each user's n interactions val n and test n, rounded, to these parts, which must be empty, and at
/// least one stays. Random ones depend on `seed`; of equal times those of lower item numbers come first, and
/// those without a time are the earliest. Throws DataError if a part would be empty.
void split_interactions(Interactions& data, InteractionSplit how, double val, double test, uint64_t seed);

/// Users and items as nodes, items behind the users, with an edge in both directions for each of `pairs`,
/// int32 [M,2] on the CPU: the graph of LightGCN.
Graph interaction_graph(const Tensor& pairs, int64_t users, int64_t items);

/// The items of each user in some pairs, ascending.
class UserItems {
 public:
  /// `pairs`: int32 [*,2] each, on the CPU; may be absent.
  UserItems(int64_t users, const std::vector<Tensor>& pairs);
  int64_t num_users() const { return std::ssize(offsets_) - 1; }  ///< as constructed
  /// Valid as long as this object.
  std::span<const int32_t> of_user(int64_t user) const;
  /// Users with an item, ascending.
  std::vector<int32_t> users() const;

 private:
  std::vector<int64_t> offsets_;
  std::vector<int32_t> items_;
};

}  // namespace adj
