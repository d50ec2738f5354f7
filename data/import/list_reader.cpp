#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/detail/listed_ids.h>
#include <adjoint/data/import/detail/missing_fields.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/rounding.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/ranges.h>

namespace adj {

namespace {

/// Whether the header says that sources and targets may be of two kinds. Equal names are nodes of one kind;
/// equal numbers of "user" and "item" need not be.
bool may_be_two_kinds(const ListLayout& layout) {
  const EdgeColumns& columns = layout.columns;
  const std::span<const std::string> names = layout.head.names();
  const bool numbers =
      layout.kind == NodeIds::Kind::integers &&
      (columns.rule == EdgeColumns::Rule::rest ||
       (columns.rule == EdgeColumns::Rule::chosen && columns.unlike)) &&
      names[static_cast<size_t>(columns.source)] != names[static_cast<size_t>(columns.target)];
  return columns.two_kinds || numbers;
}

class ListReader {
 public:
  ListReader(TextSource& source, ListLayout& layout, const EdgeListOptions& options, NodeIds& ids,
             LabelTexts& labels)
      : source_(source),
        layout_(layout),
        options_(options),
        ids_(ids),
        labels_(labels),
        task_(columns_.label >= 0 ? options.edge_task : Task::none),
        edges_(columns_.weight >= 0, options.drop_self_loops, task_),
        doubtful_(layout.doubtful) {
    if (columns_.label >= 0) labels_.set_column(called(columns_.label));
    source_.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
  }

  ImportedEdges read() {
    source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                       [this](const Ends& ends) { take(ends); });
    if (doubtful_) settle_header();
    if (first_may_name_ && edges_.count_lone(ids_.size()) == 1) fail_doubtful();
    if (skipped_.headers > 0 && !header_node().empty())
      source_.fail(
          0,
          "{} line{} the header, \"{}\", which may be an edge, as \"{}\" is a node, expected the header "
          "once, or --header no: all lines are edges",
          skipped_.headers, skipped_.headers == 1 ? " repeats" : "s repeat", excerpt(head_.row),
          excerpt(header_node()));
    if (directions_.differ() && columns_.rule != EdgeColumns::Rule::chosen) fail_directions();
    expect_list();
    if (options_.header == Header::find_out && columns_.rule != EdgeColumns::Rule::chosen && !named())
      expect_no_counts(source_, head_, rows_, below_);
    expect_single_ids();
    if (columns_.weight >= 0) weight_thousands_.expect_decimal(source_, head_, called(columns_.weight));
    if (columns_.label >= 0) target_thousands_.expect_decimal(source_, head_, called(columns_.label));
    if (named() && columns_.may_be_triples(head_.first, head_.second))
      if (const int64_t targets = edges_.count_pure_targets(ids_.size()); targets > 0)
        relation_note_ =
            relation_note(edges_.size(), targets,
                          "--source 1 --target 3: its ends; convert tables --source 1 --target 3 "
                          "--relation 2 keeps it");
    if (head_.has_header() && may_be_two_kinds(layout_))
      if (const int64_t both = edges_.count_both_ends(ids_.size()); both > 0)
        kinds_note_ =
            fmt::format("; {} id{} in both columns, and one node each (convert tables keeps kinds apart)",
                        both, both == 1 ? " is" : "s are");
    return std::move(edges_);
  }

  /// The note on the list's detected format.
  std::string note() const {
    std::string note = fmt::format("{}: {}", excerpt(source_.path()), head_.str(skipped_));
    if (const std::string columns = columns_.str(names(), head_.columns()); !columns.empty())
      note += "; " + columns + columns_.guess_note(head_.columns(), "--") + relation_note_;
    note += "; ids are " + ids_.str() + kinds_note_;
    if (const std::string node = header_node(); !node.empty())
      note += fmt::format("; a node is called \"{}\", too (--header no: line {} is an edge)", excerpt(node),
                          head_.format.header_line);
    const std::vector<std::string>& row = head_.has_header() ? head_.second : head_.first;
    const std::string &source = row[static_cast<size_t>(columns_.source)],
                      &target = row[static_cast<size_t>(columns_.target)];
    const std::string& id = !is_code(source) && list_id(source, head_.decimal) ? target : source;
    if (ids_.kind() == NodeIds::Kind::names && !options_.ids && is_number(id))
      note += fmt::format(" (\"{}\" {})", excerpt(id),
                          is_code(id) ? "begins with a zero, as codes do; --ids integers takes numbers"
                                      : "is not a 64-bit integer");
    if (first_is_alone_)
      note += fmt::format(
          "; line {} taken as an edge: {}, with ids that occur in no other line (--header yes if it is one)",
          head_.format.first_line, excerpt(head_.row));
    if (const int64_t dropped = without_id_.lines(); dropped > 0)
      note += fmt::format("; {} line{} without an id dropped{}", dropped, dropped == 1 ? "" : "s",
                          without_id_.place(names()));
    if (const int64_t gaps = without_target_.lines(); gaps > 0)
      note += fmt::format("; {} field{} taken as no label{}", gaps, gaps == 1 ? "" : "s",
                          without_target_.place(names()));
    note += weight_rounding_.note("weight") + target_rounding_.note("target") +
            weight_thousands_.note(head_, "weight") + target_thousands_.note(head_, "target");
    if (!options_.undirected && says_undirected())
      note += "; the file calls its edges undirected (--undirected adds the reverses)";
    return note;
  }

 private:
  /// The edges of one block of lines: source, target, source, … Names point into the block or to copies.
  struct Ends {
    std::vector<int64_t> ids;
    std::vector<std::string_view> names;
    std::vector<float> weights, targets;
    std::vector<std::string_view> labels;
    std::vector<std::unique_ptr<std::string>> copies;
    std::vector<int64_t> lines;
    EdgeDirections directions;
    int64_t last_line = 0;
    MissingFields without_id, without_target;
    SkippedLines skipped;
    Rounding weight_rounding, target_rounding;
    Thousands weight_thousands, target_thousands;
  };

  bool named() const { return ids_.kind() == NodeIds::Kind::names; }
  std::span<const std::string> names() const { return head_.names(); }
  std::string called(int64_t column) const { return column_text(column, names()); }
  bool is_doubtful(int64_t line) const { return doubtful_ && line == head_.format.first_line; }
  /// A node that is called as the header's source or target; or nothing.
  std::string header_node() const {
    if (!head_.has_header() || !named()) return "";
    for (const int64_t column : {columns_.source, columns_.target})
      if (const std::string& name = head_.first[static_cast<size_t>(column)]; ids_.find(name) >= 0)
        return name;
    return "";
  }
  /// KONECT's or SNAP's first line, or Gephi's column.
  bool says_undirected() const {
    const std::string comment = lower(head_.first_comment);
    return comment.starts_with("% sym") || comment.starts_with("# undirected graph") ||
           directions_.all_undirected();
  }

  [[noreturn]] void fail_directions() const {
    const auto name = [&](int64_t column) { return excerpt(names()[static_cast<size_t>(column)]); };
    source_.fail(0,
                 "column \"{}\" says Directed in {} and Undirected in {} lines, expected edges of one kind "
                 "(--source \"{}\" --target \"{}\" takes all as directed, with --undirected as undirected)",
                 name(columns_.direction), directions_.directed, directions_.undirected,
                 name(columns_.source), name(columns_.target));
  }
  [[noreturn]] void fail_missing(std::string_view field, int64_t line, int64_t column) const {
    source_.fail(line, "{} in {}, expected the id of a node (--missing-ids drop passes over such lines{})",
                 field.empty() ? "nothing" : fmt::format("\"{}\"", excerpt(field)), called(column),
                 field.empty() || !named() ? "" : ", keep takes it as a name");
  }

  /// Sets end `end` (0: source, 1: target) of the last edge; false if the line is to be dropped.
  template <class Fields>
  bool set_id(const Fields& fields, int64_t line, int64_t column, size_t end, Ends& ends) const {
    std::string_view field = fields.field();
    if (named()) {
      if (is_missing_id(field) && !is_doubtful(line)) {
        if (options_.missing_ids == MissingIds::drop) {
          ends.without_id.add(line, column);
          return false;
        }
        if (options_.missing_ids == MissingIds::fail || field.empty()) fail_missing(field, line, column);
      }
      source_.expect_utf8(line, field);
      if constexpr (std::is_same_v<Fields, RecordFields>)
        if (fields.copied()) field = *ends.copies.emplace_back(std::make_unique<std::string>(field));
      ends.names[ends.names.size() - 2 + end] = field;
      return true;
    }
    const auto id = list_id(field, head_.decimal);
    if (!id && is_missing_id(field)) {
      if (options_.missing_ids == MissingIds::drop) {
        ends.without_id.add(line, column);
        return false;
      }
      fail_missing(field, line, column);
    }
    const bool numbers = ids_.kind() == NodeIds::Kind::numbers;
    if (!options_.ids && field[0] == '0' && is_code(field)) [[unlikely]]
      source_.fail(
          line,
          "\"{}\" in {}, which begins with a zero, as codes do, but the first ids do not (--ids names "
          "or integers says what they are)",
          excerpt(field), called(column));
    if (!id && !numbers)
      source_.fail(line, "\"{}\" in {}, expected a 64-bit integer{}", excerpt(field), called(column),
                   options_.ids ? "" : ", as the first ids are (--ids names takes any text)");
    if (numbers && (!id || *id < 0 || *id >= NodeIds::kMost))
      source_.fail(line, "\"{}\" in {}, expected an integer from 0 to {}", excerpt(field), called(column),
                   NodeIds::kMost - 1);
    ends.ids[ends.ids.size() - 2 + end] = *id;
    return true;
  }
  void resize(Ends& ends, size_t edges) const {
    if (named())
      ends.names.resize(2 * edges);
    else
      ends.ids.resize(2 * edges);
  }

  Ends parse(const TextBlock& block) const {
    Ends ends;
    size_t edges = 0;
    // Numbers contain no blanks, so blanks may replace tabs.
    const bool numbers = head_.format.separator == Separator::tab && !named();
    const bool text_beside = numbers && head_.columns() > (columns_.weight >= 0 ? 3 : 2);
    const Separator separator = numbers ? Separator::blanks : head_.format.separator;
    const int64_t source = columns_.source, target = columns_.target, weights = columns_.weight;
    RecordCursor cursor(block, head_.format);
    while (cursor.next()) {
      const int64_t line = cursor.number();
      ends.last_line = line;
      // In ignored text, blanks are part of the field.
      const bool tab = text_beside && cursor.record().find('\t') != std::string_view::npos;
      resize(ends, edges + 1);
      bool complete = true;
      float weight = 1.0f, number = std::numeric_limits<float>::quiet_NaN();
      std::string_view label;
      const auto count = with_fields(
          source_, line, cursor.record(), tab ? Separator::tab : separator, cursor.quotes(), [&](auto field) {
            int64_t column = 0;
            for (; field.next(); ++column) {
              if (column == source || column == target) {
                complete = set_id(field, line, column, column == target ? 1 : 0, ends) && complete;
              } else if (column == weights && complete) {
                weight = weight_in(field.field(), line);
                if (is_doubtful(line)) continue;
                ends.weight_rounding.add(field.field(), weight);
                ends.weight_thousands.add(field.field());
              } else if (column == columns_.label) {
                set_label(field, line, label, number, ends);
              } else if (column == columns_.direction) {
                ends.directions.count(field.field());
              }
            }
            return column;
          });
      if (count != head_.columns())
        source_.fail(
            line, "{}{}", head_.wrong_count(count),
            head_.has_header() ? "" : " (--layout neighbors: a node and its neighbours in each line)");
      if (!complete) continue;
      ++edges;
      ends.lines.push_back(line);
      if (weights >= 0) ends.weights.push_back(weight);
      if (task_ == Task::edge_class) ends.labels.push_back(label);
      if (task_ == Task::edge_regression) ends.targets.push_back(number);
    }
    resize(ends, edges);
    ends.skipped = cursor.skipped();
    return ends;
  }

  template <class Fields>
  void set_label(const Fields& fields, int64_t line, std::string_view& label, float& target,
                 Ends& ends) const {
    label = fields.field();
    if (task_ == Task::edge_class) {
      source_.expect_utf8(line, label);
      if constexpr (std::is_same_v<Fields, RecordFields>)
        if (fields.copied()) label = *ends.copies.emplace_back(std::make_unique<std::string>(label));
      return;
    }
    target = target_in(label, line);
    if (std::isnan(target) && !is_doubtful(line)) ends.without_target.add(line, columns_.label);
    if (std::isnan(target)) return;
    ends.target_rounding.add(label, target);
    ends.target_thousands.add(label);
  }

  float target_in(std::string_view label, int64_t line) const {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    if (label.empty() || is_missing(label)) return none;
    const std::optional<float> value = head_.number_in(label);
    if (!value && !is_doubtful(line))
      source_.fail(line, "\"{}\" in {}, expected a target, finite and within float32{}", excerpt(label),
                   called(columns_.label), head_.decimal_hint(label));
    return value.value_or(none);
  }

  float weight_in(std::string_view field, int64_t line) const {
    const std::optional<float> weight = head_.number_in(field);
    if (!weight && !is_doubtful(line))
      source_.fail(line, "\"{}\" in {}, expected a weight, finite and within float32{}", excerpt(field),
                   called(columns_.weight), head_.decimal_hint(field));
    return weight.value_or(1.0f);
  }

  void take(const Ends& ends) {
    const size_t edges = (ends.ids.size() + ends.names.size()) / 2;
    skipped_ += ends.skipped;
    without_id_.merge(ends.without_id);
    without_target_.merge(ends.without_target);
    weight_rounding_.merge(ends.weight_rounding);
    target_rounding_.merge(ends.target_rounding);
    weight_thousands_.merge(ends.weight_thousands);
    target_thousands_.merge(ends.target_thousands);
    directions_.add(ends.directions);
    rows_ += static_cast<int64_t>(edges) + ends.without_id.lines();
    if (edges_.size() + static_cast<int64_t>(edges) > ImportedEdges::kMost)
      source_.fail(ends.last_line, "expected at most {} edges, found more", ImportedEdges::kMost);
    const bool first = !ends.lines.empty() && ends.lines[0] == head_.format.first_line;
    for (size_t k = first ? 2 : 0; k < ends.ids.size(); ++k) below_.add(ends.ids[k]);
    for (size_t k = 0; k < edges; ++k) {
      const int32_t src = named() ? ids_.add(ends.names[2 * k]) : ids_.add(ends.ids[2 * k]);
      const int32_t dst = named() ? ids_.add(ends.names[2 * k + 1]) : ids_.add(ends.ids[2 * k + 1]);
      if (src < 0 || dst < 0)
        source_.fail(ends.last_line, "expected at most {} nodes, found more", NodeIds::kMost);
      // The first line is not a header if another edge has one of its nodes, or if it is a loop.
      if (edges_.size() > 0 && (src < 2 || dst < 2)) first_may_name_ = false;
      if (doubtful_ && (src < 2 || dst < 2) && !(edges_.size() == 0 && src == 0 && dst == 1)) keep_first();
      EdgeValues values{.line = ends.lines[k]};
      if (!ends.weights.empty()) values.weight = ends.weights[k];
      if (!ends.labels.empty()) values.label = labels_.add(ends.labels[k], values.line);
      if (!ends.targets.empty()) values.target = ends.targets[k];
      edges_.append(src, dst, values);
    }
  }

  /// The first line is an edge; then it must have a weight and a target, and no names that say what columns
  /// are for.
  void keep_first() {
    doubtful_ = false;
    const int64_t line = head_.format.first_line;
    const bool in_order = columns_.source == 0 && columns_.target == 1;
    const bool may_name = head_.columns() > 2 || !in_order || columns_.rule == EdgeColumns::Rule::known;
    if (columns_.rule != EdgeColumns::Rule::chosen && may_name) fail_doubtful();
    if (columns_.weight >= 0) (void)weight_in(head_.first[static_cast<size_t>(columns_.weight)], line);
    if (task_ == Task::edge_regression)
      (void)target_in(head_.first[static_cast<size_t>(columns_.label)], line);
  }
  [[noreturn]] void fail_doubtful() const {
    source_.fail(head_.format.first_line,
                 "\"{}\", a header or an edge, expected --header yes or no to say which", excerpt(head_.row));
  }
  /// Whether the first line has a name that headers use, or a data frame's corner, above a field that is none
  /// (node1 may be above node2); or no digits above names with digits (first above item7); or words as drug1
  /// and drug2 above others, but no codes as BRCA1 and BRCA2.
  bool has_common_name() const {
    const auto is_name = [](const std::string& field) { return field.empty() || is_common_name(field); };
    for (size_t k = 0; k < head_.first.size(); ++k)
      if (is_name(head_.first[k]) && (k >= head_.second.size() || !is_name(head_.second[k]))) return true;
    const auto source = static_cast<size_t>(columns_.source), target = static_cast<size_t>(columns_.target);
    const auto has_digit = [](const std::string& field) {
      return std::ranges::any_of(field, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (std::max(source, target) < head_.second.size() && !has_digit(head_.first[source]) &&
        !has_digit(head_.first[target]) && has_digit(head_.second[source]) && has_digit(head_.second[target]))
      return true;
    if (columns_.rule != EdgeColumns::Rule::alike || source >= head_.second.size()) return false;
    constexpr size_t kLongestCode = 3;
    const std::string& name = head_.first[source];
    const std::vector<std::string> words = words_in(name), below = words_in(head_.second[source]);
    return words[0].size() > kLongestCode &&
           std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; }) &&
           (below.empty() || below[0] != words[0]);
  }

  void settle_header() {
    const bool certain = columns_.rule == EdgeColumns::Rule::known || head_.numbers_under_words();
    if (certain || (!head_.second.empty() && edges_.count_lone(ids_.size()) == 1)) {
      if (!certain && !has_common_name()) fail_doubtful();
      layout_.head.take_header();
      --rows_;
      ids_.forget_first(2);
      edges_.forget_first();
      expect_one_kind(source_.path(), layout_);
      return;
    }
    first_is_alone_ = true;
    keep_first();
  }

  /// Refuses what may be an adjacency matrix: as many rows as columns of numbers, or names in both; and a
  /// graph of METIS whose nodes all have as many neighbours.
  void expect_list() const {
    using Rule = EdgeColumns::Rule;
    const int64_t columns = head_.columns();
    if (columns_.rule == Rule::first && head_.format.separator == Separator::blanks)
      expect_no_metis(source_, head_.first, rows_ - 1, columns * (rows_ - 1));
    if (columns < 3 || columns_.rule == Rule::chosen || columns_.weight >= 0 || columns_.label >= 0 ||
        head_.second.size() < 3)
      return;
    const auto bits = [](const std::vector<std::string>& row) {
      return std::all_of(row.begin(), row.end(),
                         [](const auto& field) { return field == "0" || field == "1"; });
    };
    const auto numbers = [](const std::vector<std::string>& row) {
      return std::all_of(row.begin(), row.end(), [](const auto& field) { return is_number(field); });
    };
    const bool plain = !head_.has_header() && rows_ == columns && numbers(head_.first) &&
                       numbers(head_.second) && (columns > 3 || (bits(head_.first) && bits(head_.second)));
    const bool labelled = head_.has_header() && rows_ == columns - 1 && head_.second[0] == head_.first[1];
    if (plain || labelled)
      source_.fail(
          0,
          "{} rows of {} columns, which may be an adjacency matrix, expected a list of edges (--layout "
          "matrix: it is a matrix; with --source and --target it is a list)",
          rows_, columns);
  }

  /// Refuses targets that are lists of ids.
  void expect_single_ids() const {
    const bool chosen = columns_.rule == EdgeColumns::Rule::chosen;
    if (!named() || (chosen && options_.ids)) return;
    const std::string list = detail::listed_ids(ids_, edges_.sources(ids_.size()), ids_, chosen);
    if (!list.empty())
      source_.fail(
          0,
          "\"{}\" in {}, which may be a list of ids, expected one (--layout neighbors: a node and its "
          "neighbours in each line{})",
          excerpt(list), called(columns_.target),
          chosen ? "; --ids names: it is one" : "; with --source and --target it is one");
  }

  TextSource& source_;
  ListLayout& layout_;
  const TableHead& head_ = layout_.head;
  const EdgeColumns& columns_ = layout_.columns;
  const EdgeListOptions& options_;
  NodeIds& ids_;
  LabelTexts& labels_;
  const Task task_;
  ImportedEdges edges_;
  SkippedLines skipped_;
  int64_t rows_ = 0;
  IdRange below_;  // of the ids below the first line, if they are integers
  MissingFields without_id_, without_target_;
  Rounding weight_rounding_, target_rounding_;
  Thousands weight_thousands_, target_thousands_;
  EdgeDirections directions_;
  std::string relation_note_, kinds_note_;
  bool doubtful_;
  /// The first line is an edge with numbers, which may be names, if it is the only one whose ids occur once.
  bool first_may_name_ = options_.header == Header::find_out && named() && !head_.has_header() &&
                         columns_.rule == EdgeColumns::Rule::first &&
                         head_.is_word_beside_numbers(columns_.source) &&
                         head_.is_word_beside_numbers(columns_.target);
  bool first_is_alone_ = false;  // the first line is an edge whose ids occur in no other line
};

}  // namespace

void expect_no_metis(const TextSource& source, std::span<const std::string> first, int64_t lines,
                     int64_t neighbors) {
  if (first.size() < 2 || integer_in(first[0]) != lines || integer_in(first[1]) != neighbors / 2 ||
      neighbors % 2 != 0)
    return;
  source.fail(
      1,
      "\"{} {}\" and {} lines, as in a graph of METIS, whose lines do not name their nodes, expected a list "
      "(awk 'NR > 1 {{for (k = 1; k <= NF; ++k) print NR - 1, $k}}' makes one)",
      first[0], first[1], lines);
}

void expect_no_counts(const TextSource& source, const TableHead& head, int64_t rows, const IdRange& below) {
  if (head.has_header() || head.columns() != 2 || rows < 3 || below.least < 0) return;
  const std::optional<int64_t> nodes = list_id(head.first[0], head.decimal);
  if (!nodes || below.most > *nodes || list_id(head.first[1], head.decimal) != rows - 1) return;
  source.fail(head.format.first_line,
              "\"{}\", which may be the numbers of nodes and edges, as {} lines with ids up to {} follow, or "
              "an edge, expected the edges alone (sed 1d removes it), or --header no: it is an edge",
              excerpt(head.row), rows - 1, below.most);
}

void expect_one_kind(const std::string& path, const ListLayout& layout) {
  const EdgeColumns& columns = layout.columns;
  const std::span<const std::string> names = layout.head.names();
  const auto name = [&](int64_t column) { return excerpt(names[static_cast<size_t>(column)]); };
  const std::string place = layout.head.place(path);
  expect_one_weight(columns, names, place, "--weight");
  if (columns.rule == EdgeColumns::Rule::chosen) return;  // all as one
  const std::string choice =
      fmt::format("(--source \"{}\" --target \"{}\" takes all as one; convert tables keeps the kinds)",
                  name(columns.source), name(columns.target));
  if (columns.relation >= 0)
    data_fail("{}: column \"{}\" says that edges are of several kinds, expected one kind {}", place,
              name(columns.relation), choice);
  if (columns.source_type >= 0)
    data_fail("{}: columns \"{}\" and \"{}\" say that nodes are of several kinds, expected one kind {}",
              place, name(columns.source_type), name(columns.target_type), choice);
  if (may_be_two_kinds(layout))
    data_fail("{}: columns \"{}\" and \"{}\" may be ids of two kinds of nodes, expected ids of one kind {}",
              place, name(columns.source), name(columns.target), choice);
}

ImportedEdges read_list(TextSource& source, ListLayout& layout, const EdgeListOptions& options, NodeIds& ids,
                        LabelTexts& labels, std::vector<std::string>& notes) {
  ListReader reader(source, layout, options, ids, labels);
  ImportedEdges edges = reader.read();
  notes.push_back(reader.note());
  if (edges.zeros() > 0) notes.back() += fmt::format("; {} of {} weights are 0", edges.zeros(), edges.size());
  return edges;
}

}  // namespace adj
