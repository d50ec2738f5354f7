#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/rdf_labels.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/label_classes.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr std::string_view kLabelParts[] = {"train", "val", "test"};

class LabelTables {
 public:
  LabelTables(const RdfLabels& labels, const NodeIds& nodes, std::vector<std::string>& notes)
      : labels_(labels), nodes_(nodes), notes_(notes), texts_({}, &is_missing_label) {}

  void read(ItemTable& items) {
    for (const auto& [part, path] :
         {std::pair(size_t{0}, &labels_.train), {1, &labels_.val}, {2, &labels_.test}})
      if (!path->empty()) read_table(*path, part);
    if (rows_.empty()) data_fail("{}: no labels of nodes, expected some", excerpt(labels_.train));
    set_classes(items);
    set_splits(items);
    items.unlabelled = nodes_.size() - std::ssize(rows_);
  }

 private:
  /// Where a node got its label.
  struct Row {
    int32_t text;
    size_t part;
    std::string path;
    int64_t line;
  };

  int32_t find_node(std::string_view field) const {
    if (const int32_t node = nodes_.find(field); node >= 0) return node;
    const bool bracketed = field.starts_with('<') && field.ends_with('>');
    return bracketed ? nodes_.find(field.substr(1, field.size() - 2)) : -1;
  }

  int64_t find_label_column(const TableRows& rows) const {
    if (!labels_.label_column.empty()) return rows.column(labels_.label_column);
    std::vector<std::string> found;
    int64_t column = -1;
    for (int64_t k = 0; k < std::ssize(rows.names()); ++k)
      if (const std::string& name = rows.names()[static_cast<size_t>(k)]; lower(name).starts_with("label")) {
        column = k;
        found.push_back(name);
      }
    if (found.size() == 1) return column;
    data_fail("{}: {}, expected --label-column to name one of {}", rows.place(),
              found.empty() ? "no column whose name begins with label"
                            : fmt::format("several columns of labels ({})", detail::listed(found, 5)),
              detail::listed({rows.names().begin(), rows.names().end()}, 10));
  }

  int64_t find_node_column(TableRows& rows, int64_t label) const {
    if (!labels_.node_column.empty()) return rows.column(labels_.node_column);
    std::vector<int64_t> columns;
    for (int64_t k = 0; k < rows.columns(); ++k)
      if (k != label) columns.push_back(k);
    std::vector<int64_t> known(columns.size());
    rows.read(columns, [&](const RowFields& block) {
      for (size_t k = 0; k < block.fields.size(); ++k)
        known[k % columns.size()] += find_node(block.fields[k]) >= 0;
    });
    std::vector<std::string> found;
    int64_t column = -1;
    for (size_t k = 0; k < columns.size(); ++k)
      if (known[k] > 0) {
        column = columns[k];
        found.push_back(rows.names()[static_cast<size_t>(column)]);
      }
    if (found.size() == 1) return column;
    data_fail("{}: {}, expected --node-column to name one of {}", rows.place(),
              found.empty()
                  ? "no column has names of the graph's nodes"
                  : fmt::format("several columns with names of nodes ({})", detail::listed(found, 5)),
              detail::listed({rows.names().begin(), rows.names().end()}, 10));
  }

  void read_table(const std::string& path, size_t part) {
    TableRows rows(path, {}, Header::yes, {});
    const int64_t label = find_label_column(rows), node = find_node_column(rows, label);
    rows.expect_distinct({label, node});
    texts_.set_column(column_text(label, rows.names()));
    unknown_.clear();
    const size_t before = rows_.size();
    const int64_t count = rows.read({node, label}, [&](const RowFields& block) {
      for (size_t k = 0; k < block.lines.size(); ++k)
        add(rows, block.fields[2 * k], block.fields[2 * k + 1], block.lines[k], part);
    });
    if (!unknown_.empty() && labels_.unknown == UnknownNodes::error)
      rows.source().fail(first_unknown_,
                         "{} of {} rows are of nodes that the graph does not have ({}), expected its names "
                         "(--unknown-nodes drop passes these over)",
                         unknown_.size(), count, detail::listed(unknown_, 3));
    if (rows_.size() == before) rows.source().fail(0, "no row has a label of a node, expected some");
    notes_.push_back(fmt::format(
        "{}: {} labels, nodes from {}{}, labels from {}{}{}", excerpt(path), rows_.size() - before,
        column_text(node, rows.names()),
        labels_.node_column.empty() ? " (the only one with names of nodes)" : "",
        column_text(label, rows.names()), labels_.label_column.empty() ? " (by its name)" : "",
        unknown_.empty() ? ""
                         : fmt::format("; {} rows passed over, of nodes that the graph does not have ({})",
                                       unknown_.size(), detail::listed(unknown_, 3))));
  }

  void add(TableRows& rows, std::string_view name, std::string_view label, int64_t line, size_t part) {
    const int32_t node = find_node(name);
    if (node < 0) {
      if (unknown_.empty()) first_unknown_ = line;
      unknown_.emplace_back(name);
      return;
    }
    rows.source().expect_utf8(line, label);
    const int32_t text = texts_.add(label, line);
    if (text < 0) return;
    const auto [found, added] = rows_.try_emplace(node, Row{text, part, rows.source().path(), line});
    if (added) {
      members_[part].push_back(node);
      return;
    }
    const Row& first = found->second;
    const std::string place = fmt::format("{}:{}", excerpt(first.path), first.line);
    if (first.text != text)
      rows.source().fail(line, "{} has the label \"{}\", but \"{}\" in {}, expected one", excerpt(name),
                         excerpt(label), excerpt(*texts_.texts()[static_cast<size_t>(first.text)]), place);
    if (first.part != part)
      rows.source().fail(line, "{} is to {}, but to {} in {}, expected one part of a split", excerpt(name),
                         kLabelParts[part], kLabelParts[first.part], place);
  }

  void set_classes(ItemTable& items) const {
    const LabelClasses classes = label_classes(texts_.texts());
    items.task = Task::node_class;
    items.classes = std::ssize(classes.names);
    if (classes.named) items.class_names = classes.names;
    items.y = Tensor::full({nodes_.size()}, -1.0).to(DType::i32);
    for (const auto& [node, row] : rows_)
      items.y.mutable_data<int32_t>()[node] = classes.class_of[static_cast<size_t>(row.text)];
    notes_.push_back(
        fmt::format("{} classes: {}{}", classes.names.size(), classes.order_text(), texts_.note()));
  }

  void set_splits(ItemTable& items) const {
    const std::string& place = labels_.train;
    if (labels_.random) {
      items.splits = labels_.draws.draw(items.y, nodes_.size(), place);
      notes_.push_back(labels_.draws.note(items.splits, "nodes"));
    } else if (!labels_.test.empty()) {
      for (int64_t k = 0; k < (labels_.val.empty() ? labels_.draws.count : 1); ++k)
        items.splits.push_back(split_with(items, static_cast<uint64_t>(k)));
      const Split& first = items.splits[0];
      notes_.push_back(fmt::format(
          "{} nodes to train, {} to validate{}, {} to test", first.train.numel(), first.val.numel(),
          labels_.val.empty()
              ? fmt::format(
                    " ({:g} % of those of {}, {}by seed {}{})", 100.0 * labels_.val_share,
                    excerpt(labels_.train), labels_.draws.stratified ? "stratified, " : "",
                    labels_.draws.seed,
                    labels_.draws.count > 1 ? fmt::format(" and {} more", labels_.draws.count - 1) : "")
              : "",
          first.test.numel()));
    }
    if (!items.splits.empty()) items.use(items.splits[0]);
  }

  Split split_with(const ItemTable& items, uint64_t draw) const {
    const Tensor train = Tensor::from(members_[0]), test = Tensor::from(members_[2]);
    if (!labels_.val.empty()) return {train, Tensor::from(members_[1]), test};
    std::vector<int32_t> classes;
    for (const int32_t node : members_[0]) classes.push_back(items.y.data<int32_t>()[node]);
    Generator generator(labels_.draws.seed + draw);
    const SplitFractions shares{.val = labels_.val_share, .test = 0.0};
    const NodeSplit parts = labels_.draws.stratified
                                ? stratified_node_split(Tensor::from(classes), shares, generator)
                                : random_node_split(std::ssize(members_[0]), shares, generator);
    if (parts.train.numel() == 0 || parts.val.numel() == 0)
      data_fail("{}: {} labels, of which {} would validate, expected some to train and some to validate",
                excerpt(labels_.train), members_[0].size(), parts.val.numel());
    const auto chosen = [&](const Tensor& places) {
      std::vector<int32_t> nodes;
      for (const int32_t k : places.to_vector<int32_t>())
        nodes.push_back(members_[0][static_cast<size_t>(k)]);
      return Tensor::from(nodes);
    };
    return {chosen(parts.train), chosen(parts.val), test};
  }

  const RdfLabels& labels_;
  const NodeIds& nodes_;
  std::vector<std::string>& notes_;
  LabelTexts texts_;
  std::unordered_map<int32_t, Row> rows_;  // by node
  std::vector<int32_t> members_[3];        // of each part, in the order of its file
  std::vector<std::string> unknown_;       // of the file
  int64_t first_unknown_ = 0;              // its line
};

/// What a name says as a label: the text of a literal, numbers and truths as numbers, else the name itself.
std::string value_in(std::string_view name) {
  if (name.starts_with('"')) name = name.substr(1, name.rfind('"') - 1);
  if (const std::optional<float> truth = boolean_in(name)) return fmt::format("{:g}", *truth);
  const std::optional<double> number = double_in(name);
  return number ? fmt::format("{:g}", *number) : std::string(name);
}

/// A predicate's edges at labelled nodes.
struct LabelEdges {
  int64_t touched = 0, equal = 0;  // edges; those to what is called as the label
  std::vector<bool> classes;       // of these
};

}  // namespace

void detail::read_rdf_labels(const RdfLabels& labels, const NodeIds& nodes, ItemTable& items,
                             std::vector<std::string>& notes) {
  LabelTables(labels, nodes, notes).read(items);
}

void detail::warn_of_label_edges(const ItemTable& items, const NodeIds& nodes, const NodeIds& predicates,
                                 const std::vector<RelationEdges>& edges) {
  std::unordered_map<std::string, int32_t> classes;
  for (int32_t k = 0; k < items.classes; ++k)
    classes.emplace(
        items.class_names.empty() ? std::to_string(k) : value_in(items.class_names[static_cast<size_t>(k)]),
        k);
  std::vector<int32_t> class_called(static_cast<size_t>(nodes.size()), -1);
  for (int32_t node = 0; node < nodes.size(); ++node)
    if (const auto found = classes.find(value_in(nodes.text(node))); found != classes.end())
      class_called[static_cast<size_t>(node)] = found->second;
  const int32_t* const y = items.y.data<int32_t>();
  for (size_t k = 0; k < edges.size(); ++k) {
    const int32_t *src = edges[k].index.src.data<int32_t>(), *dst = edges[k].index.dst.data<int32_t>();
    for (const auto& [node, value] : {std::pair(src, dst), {dst, src}}) {
      LabelEdges found;
      found.classes.resize(static_cast<size_t>(items.classes));
      for (int64_t e = 0; e < edges[k].index.src.numel(); ++e) {
        if (y[node[e]] < 0) continue;
        ++found.touched;
        if (class_called[static_cast<size_t>(value[e])] != y[node[e]]) continue;
        ++found.equal;
        found.classes[static_cast<size_t>(y[node[e]])] = true;
      }
      const auto several = std::ranges::count(found.classes, true);
      if (several < 2 || 10 * found.equal < 9 * found.touched) continue;  // true and false meet by chance
      const std::string name = predicates.text(static_cast<int32_t>(k));
      log_warning(
          "{}: {} of {} edges at labelled nodes say the label, which a model then reads (--drop-predicate {} "
          "leaves them out)",
          excerpt(name), found.equal, found.touched, printable(name));
    }
  }
}

}  // namespace adj
