#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/fields.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// "7" of "7.0", as data frames with gaps and spreadsheets write integers (up to 2^53), also of "7,0" if
/// `decimal` is a comma; other texts as they are.
std::string_view without_fraction(std::string_view text, Decimal decimal = Decimal::point);
/// An integer as files write ids: also 7.0, of at most 2^53.
std::optional<int64_t> integer_id(std::string_view text, Decimal decimal = Decimal::point);

/// Names that a file writes as another spelling of the same number: 1.0 of a node called 1.
struct IdSpellings {
  int64_t count = 0;           ///< how many
  std::string spelling, name;  ///< of the first: the field, and the node's name
  /// Counts a field that is not the name of its node.
  void add(std::string_view field, std::string_view node);
  void merge(const IdSpellings& later);  ///< counts those of later rows too
  /// "3 fields are other spellings of a number, as "1.0" of "1": the same node"; or empty.
  std::string text(std::string_view thing) const;
  std::string note(std::string_view thing = "node") const;  ///< the same after "; "
};

/// Maps node ids in files to the numbers 0 … N - 1, in order of first appearance. Integers may be written
/// as 7.0 (or 7,0); among names 7 and 7.0 are one node, too, with the name that came first.
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

  /// `decimal`: the mark of numbers in the files.
  explicit NodeIds(Kind kind, Decimal decimal = Decimal::point) : kind_(kind), decimal_(decimal) {}

  Kind kind() const { return kind_; }                          ///< of all ids
  int64_t size() const { return size_; }                       ///< number of nodes so far
  const IdSpellings& spellings() const { return spellings_; }  ///< of names that were added
  /// The number of an id, added if new; -1 if there are kMost nodes already. For `numbers`, ids must be from
  /// 0 to kMost - 1.
  int32_t add(int64_t id);
  int32_t add(std::string_view name);
  /// The same, of this very text: another spelling is another node.
  int32_t add_exact(std::string_view name);
  /// Adds an id as written in a file; false if it is not of this kind, or there are kMost nodes already.
  bool add_text(std::string_view field);
  /// The number of an id as written in a file; -1 if unknown.
  int32_t find(std::string_view field) const;
  int32_t find(std::string_view field, IdSpellings& spellings) const;  ///< counts other spellings
  int32_t find(int64_t id) const;
  /// For `numbers`: sets a minimum number of nodes.
  void reserve_numbers(int64_t nodes) { size_ = std::max(size_, nodes); }
  /// The id of a node as written in a file.
  std::string text(int32_t node) const;
  /// For names: removes the first `count` nodes; later ones are renumbered.
  void forget_first(int64_t count);
  /// "integers from 1 to 34", for messages; of names also the note on spellings that were added.
  std::string str() const;
  /// Sets a dataset's node_ids or names; nothing if the ids are the node numbers.
  void move_to(ItemTable& items);

 private:
  size_t slot_of(int64_t id) const;
  size_t slot_of(std::string_view name) const;
  int32_t find_spelling(std::string_view name) const;
  int32_t insert(std::string_view name, size_t slot);
  std::string_view name(int32_t node) const;
  void grow();

  Kind kind_;
  Decimal decimal_;
  IdSpellings spellings_;
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
