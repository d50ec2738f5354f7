#pragma once

#include <adjoint/data/dataset.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// The ids by which files name nodes, and the numbers 0 … N - 1 that stand for them in order of first
/// appearance.
class NodeIds {
 public:
  enum class Kind : uint8_t {
    integers,  ///< any of 64 bits
    names,     ///< any text
    numbers    ///< 0 … N - 1 themselves, N being the largest and one
  };
  /// How many nodes there can be.
  static constexpr int64_t kMost = (int64_t{1} << 31) - 2;

  explicit NodeIds(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }
  int64_t size() const { return size_; }
  /// The number of an id, which is new where it has not been seen; -1 where there are kMost nodes already. Of
  /// `numbers`, ids are from 0 to kMost - 1.
  int32_t add(int64_t id);
  int32_t add(std::string_view name);
  /// The number of an id as it stands in a file, -1 where there is none.
  int32_t find(std::string_view field) const;
  int32_t find(int64_t id) const;
  /// Of `numbers`: there are so many nodes at least.
  void reserve_numbers(int64_t nodes) { size_ = std::max(size_, nodes); }
  /// The id of a node as a file has it.
  std::string text(int32_t node) const;
  /// Of names: the first ones are no nodes after all, and those behind them move up.
  void forget_first(int64_t count);
  /// "integers from 1 to 34", for messages.
  std::string str() const;
  /// Gives a dataset its node_ids, or names; nothing where the ids are the nodes' own numbers.
  void move_to(Dataset& data);

 private:
  size_t slot_of(int64_t id) const;
  size_t slot_of(std::string_view name) const;
  std::string_view name(int32_t node) const;
  void grow();

  Kind kind_;
  int64_t size_ = 0, least_ = kMost;  // the least: of numbers
  std::vector<int32_t> small_;        // integers from 0 to kSmall - 1: the node and one, 0: none
  std::vector<int32_t> slots_;        // a hash table with open addressing, of the others: likewise
  int64_t hashed_ = 0;                // how many those are
  std::vector<int64_t> ids_;          // of each node
  std::string bytes_;                 // the names of all nodes
  std::vector<int64_t> ends_{0};      // where they end in it; the first begins at 0
};

}  // namespace adj
