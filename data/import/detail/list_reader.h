#pragma once

#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/table_head.h>

#include <vector>

namespace adj {

/// Counts the edges both of whose nodes are in no other, as edges come one after another and nodes are
/// numbered by first appearance.
class LoneEdges {
 public:
  void add(int32_t src, int32_t dst);
  int64_t count() const { return count_; }
  /// Is the first edge, from node 0 to node 1, one of them?
  bool has_first() const { return !ends_.empty() && ends_[0] == End::source; }

 private:
  enum class End : uint8_t { none, source, target };
  void touch(int32_t node);

  std::vector<End> ends_;  // of each node, what it is of a lone edge; the other end is its neighbour
  int64_t count_ = 0;
};

/// Reads a list of edges, in parallel, and settles whether its first line is a header.
class ListReader {
 public:
  /// `doubtful`: the first line may be a header, which the ids of the others decide.
  ListReader(TextSource& source, const TableHead& head, int64_t header_line, bool doubtful,
             const EdgeListOptions& options, NodeIds& ids);

  ImportedEdges read();
  /// 0: none.
  int64_t header_line() const { return header_line_; }
  int64_t comments() const { return comments_; }
  /// Is the first line an edge whose ids stand in no other?
  bool first_is_alone() const { return first_is_alone_; }

 private:
  /// The edges of one block of lines. Names point into the block, or to copies.
  struct Ends {
    std::vector<int64_t> ids;
    std::vector<std::string_view> names;
    std::vector<float> weights;
    std::vector<std::unique_ptr<std::string>> copies;
    int64_t last_line = 0, comments = 0;
  };

  bool named() const { return ids_.kind() == NodeIds::Kind::names; }
  Ends parse(const TextBlock& block) const;
  void add_id(const RecordFields& at, int64_t line, int64_t column, Ends& ends) const;
  float weight_in(std::string_view field, int64_t line) const;
  void take(const Ends& ends);
  void settle_header();

  TextSource& source_;
  const TableHead& head_;
  const EdgeListOptions& options_;
  NodeIds& ids_;
  ImportedEdges edges_;
  LoneEdges lone_;
  int64_t header_line_, comments_ = 0;
  bool doubtful_, first_is_alone_ = false;
};

}  // namespace adj
