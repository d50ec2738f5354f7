#pragma once

#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/table_head.h>

#include <vector>

namespace adj {

/// Reads an edge list in parallel, and decides whether its first line is a header.
class ListReader {
 public:
  /// `doubtful`: the first line may be a header; the ids of the other lines decide.
  ListReader(TextSource& source, const TableHead& head, int64_t header_line, bool doubtful,
             const EdgeListOptions& options, NodeIds& ids);

  ImportedEdges read();
  /// 0: none.
  int64_t header_line() const { return header_line_; }
  int64_t comments() const { return comments_; }
  /// True if the first line is an edge whose ids occur in no other line.
  bool first_is_alone() const { return first_is_alone_; }

 private:
  /// The edges of one block of lines. Names point into the block or to copies.
  struct Ends {
    std::vector<int64_t> ids;
    std::vector<std::string_view> names;
    std::vector<float> weights;
    std::vector<std::unique_ptr<std::string>> copies;
    int64_t last_line = 0, comments = 0;
  };

  bool named() const { return ids_.kind() == NodeIds::Kind::names; }
  Ends parse(const TextBlock& block) const;
  template <class Fields>
  void add_id(const Fields& at, int64_t line, int64_t column, Ends& ends) const;
  float weight_in(std::string_view field, int64_t line) const;
  void take(const Ends& ends);
  void expect_first(int32_t src, int32_t dst);
  void keep_first();
  void settle_header();

  TextSource& source_;
  const TableHead& head_;
  const EdgeListOptions& options_;
  NodeIds& ids_;
  ImportedEdges edges_;
  int64_t header_line_, comments_ = 0;
  bool doubtful_, first_is_alone_ = false;
};

}  // namespace adj
