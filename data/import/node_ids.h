#pragma once

#include <adjoint/data/dataset.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// An integer as files write ids: also 7.0, as data frames with gaps do, of at most 2^53.
std::optional<int64_t> integer_id(std::string_view text);

/// Maps node ids in files to the numbers 0 … N - 1, in order of first appearance.
class NodeIds {
 public:
  /// What ids are.
  enum class Kind : uint8_t {
    integers,  ///< any 64-bit integers
    names,     ///< any text
    numbers    ///< 0 … N - 1 themselves, N being the maximum plus 1
  };
  /// Maximum number of nodes.
  static constexpr int64_t kMost = (int64_t{1} << 31) - 2;

  explicit NodeIds(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }     ///< of all ids
  int64_t size() const { return size_; }  ///< number of nodes so far
  /// The number of an id, added if new; -1 if there are kMost nodes already. For `numbers`, ids must be from
  /// 0 to kMost - 1.
  int32_t add(int64_t id);
  int32_t add(std::string_view name);
  /// Adds an id as written in a file; false if it is not of this kind, or there are kMost nodes already.
  bool add_text(std::string_view field);
  /// The number of an id as written in a file; -1 if unknown. Integers may be written as 7.0, as data frames
  /// with gaps do.
  int32_t find(std::string_view field) const;
  int32_t find(int64_t id) const;
  /// For `numbers`: sets a minimum number of nodes.
  void reserve_numbers(int64_t nodes) { size_ = std::max(size_, nodes); }
  /// The id of a node as written in a file.
  std::string text(int32_t node) const;
  /// For names: removes the first `count` nodes; later ones are renumbered.
  void forget_first(int64_t count);
  /// "integers from 1 to 34", for messages.
  std::string str() const;
  /// Sets a dataset's node_ids or names; nothing if the ids are the node numbers.
  void move_to(ItemTable& items);

 private:
  size_t slot_of(int64_t id) const;
  size_t slot_of(std::string_view name) const;
  std::string_view name(int32_t node) const;
  void grow();

  Kind kind_;
  int64_t size_ = 0, least_ = kMost;  // least: the minimum of `numbers`
  std::vector<int32_t> small_;        // integers from 0 to kSmall - 1: node + 1; 0: none
  std::vector<int32_t> slots_;        // open-addressing hash table of the others; same values
  int64_t hashed_ = 0;                // number of entries in it
  std::vector<int64_t> ids_;          // by node
  std::string bytes_;                 // names of all nodes, concatenated
  std::vector<int64_t> ends_{0};      // end offsets; the first name begins at 0
};
constexpr auto names_of(NodeIds::Kind) { return std::array{"integers", "names", "numbers"}; }  ///< in options

}  // namespace adj
