#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/matching_id.h>
#include <adjoint/data/import/detail/node_type.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/split_table.h>

#include <algorithm>

namespace adj {

namespace {

Graph without_edges(int64_t nodes) {
  const Tensor none = Tensor::empty({0}, DType::i32);
  return Graph::from_coo(nodes, none, none);
}

}  // namespace

std::string neo4j_group(const std::string& name) {
  const size_t begin = name.find('(');
  const bool is_id = name.find("_ID(") != std::string::npos || name.find(":ID(") != std::string::npos;
  return is_id && name.ends_with(')') ? name.substr(begin + 1, name.size() - begin - 2) : "";
}

std::string NodeType::group() const {
  return rows_ && rows_->has_header() ? neo4j_group(column_name(columns_.id, rows_->names())) : "";
}

std::string NodeType::graph_name() const {
  return graph_ >= 0 && rows_->has_header() ? column_name(graph_, rows_->names()) : "";
}

NodeType::NodeType(const NodeTableFile& table, const TableFiles& files, bool joined)
    : table_(table), files_(files), decimal_(files.id_decimal()), joined_(joined) {
  chosen_ids_ = table_.ids.has_value();
  if (table_.path.empty()) {
    if (!table_.id.empty() || !table_.label.empty() || !table_.features.empty() || !table_.time.empty())
      data_fail("nodes \"{}\": no file, expected one for their columns", excerpt(table_.type));
    if (table_.ids) ids_.emplace(*table_.ids, decimal_);
    return;
  }
  std::vector<std::string> chosen = table_.features;
  chosen.insert(chosen.end(), table_.without.begin(), table_.without.end());
  chosen.insert(chosen.end(), {table_.id, table_.label, table_.time, table_.split, table_.graph});
  rows_ = std::make_unique<TableRows>(table_.path, files.text, files.header, chosen);
  for (const std::string* column : {&table_.time, &table_.split, &table_.graph})
    if (!column->empty()) table_.without.push_back(*column);
  graph_ = rows_->column(table_.graph);
  find_columns();
  if (!joined_) return;
  if (graph_ < 0) data_fail("{}: no column of graphs, as edges have, expected one (graph)", rows_->place());
  table_.ids = NodeIds::Kind::names;
  // Rows are read by their order.
  table_.without.push_back(rows_->has_header() ? column_name(columns_.id, rows_->names())
                                               : std::to_string(columns_.id + 1));
}

void NodeType::find_columns() {
  columns_ = node_columns(rows_->names(), rows_->first_fields(), rows_->columns(),
                          {table_.id, table_.label, table_.features, table_.without,
                           typed_columns(table_.types, table_.like), false, ends_},
                          false, rows_->place());
  if (graph_ >= 0 && columns_.id == graph_ && table_.id.empty())
    data_fail("{}: {} has the graphs, expected another of ids (--id {}=COLUMN)", rows_->place(),
              column_text(graph_, rows_->names()), excerpt(table_.type));
  std::vector<int64_t> columns = columns_.features;
  columns.insert(columns.end(), {columns_.id, columns_.label, rows_->column(table_.time),
                                 rows_->column(table_.split), graph_});
  rows_->expect_distinct(std::move(columns));
}

std::string NodeType::id_key(std::string_view id) {
  const std::optional<int64_t> integer = is_code(id) ? std::nullopt : integer_id(id);
  return integer ? std::to_string(*integer) : std::string(id);
}

void NodeType::set_ends(std::vector<std::string> names) {
  if (!rows_ || joined_ || names.empty()) return;
  ends_ = std::move(names);
  find_columns();
}

bool NodeType::has_doubtful_head() const {
  return rows_ && !joined_ && rows_->guessed_header() && rows_->head().is_word_beside_numbers(columns_.id);
}

void NodeType::expect_head(const NodeIds& ends) const {
  const std::string& id = rows_->head().first[static_cast<size_t>(columns_.id)];
  const bool is_node = ends.find(id_key(id)) >= 0;
  if (is_node == rows_->has_header())
    data_fail(
        "{}: \"{}\", a header or a row, as \"{}\" is in {} edge, expected --header yes or no to say which",
        rows_->place(), excerpt(rows_->head().row), excerpt(id), is_node ? "an" : "no");
}

void NodeType::choose_id(const NodeIds& ends, std::vector<std::string>& notes) {
  const int64_t column = detail::matching_id(
      *rows_, columns_.possible_ids, [&](std::string_view id) { return ends.find(id_key(id)); }, ends.size(),
      "edges", ends_);
  if (column == columns_.id) return;
  table_.id = choice_for(column, rows_->names());
  find_columns();
  notes.push_back(fmt::format("{}: ids from {}, which has those of edges", excerpt(table_.path),
                              column_text(column, rows_->names())));
}

std::string NodeType::joined(std::string_view graph, std::string_view id) const {
  std::string both;
  for (const char c : without_fraction(graph, decimal_)) {
    if (c == '/' || c == '\\') both += '\\';  // else a/b of c would be b/c of a
    both += c;
  }
  return both.append("/").append(without_fraction(id, decimal_));
}

std::vector<int32_t> NodeType::read_graphs(NodeType& graphs, std::vector<std::string>& notes) {
  std::vector<int32_t> found;
  IdSpellings spellings;
  rows_->read({graph_}, [&](const RowFields& block) {
    for (size_t k = 0; k < block.lines.size(); ++k) {
      if (block.fields[k].empty())
        rows_->source().fail(block.lines[k], "nothing in {}, expected the id of a graph",
                             column_text(graph_, rows_->names()));
      found.push_back(graphs.add(block.fields[k], rows_->source(), block.lines[k], spellings));
    }
  });
  if (spellings.count > 0)
    notes.push_back(fmt::format("{}: {}", excerpt(table_.path), spellings.text("graph")));
  return found;
}

void NodeType::read_ids() {
  if (!rows_) return;
  if (!table_.ids) {
    bool integers = true;
    rows_->read({columns_.id}, [&](const RowFields& block) {
      integers =
          integers && std::all_of(block.fields.begin(), block.fields.end(), [this](std::string_view id) {
            return integer_id(id, decimal_) && !is_code(id);
          });
    });
    table_.ids = integers ? NodeIds::Kind::integers : NodeIds::Kind::names;
  }
  ids_.emplace(*table_.ids, decimal_);
  TextSource& source = rows_->source();
  const std::string column = column_text(columns_.id, rows_->names());
  const bool keeps_missing = std::ranges::any_of(
      files_.edges, [](const EdgeTableFile& edges) { return edges.missing_ids == MissingIds::keep; });
  rows_->read({columns_.id, joined_ ? graph_ : -1}, [&](const RowFields& block) {
    std::string both;
    for (size_t k = 0; k < block.lines.size(); ++k) {
      std::string_view id = block.fields[2 * k];
      if (is_missing_id(id) && (id.empty() || !keeps_missing))
        source.fail(block.lines[k], "\"{}\" in {}, expected the id of a node", excerpt(id), column);
      source.expect_utf8(block.lines[k], id);
      if (joined_) id = both = joined(block.fields[2 * k + 1], id);
      const int64_t before = ids_->size();
      IdSpellings twin;
      if (ids_->find(id, twin) < 0 && !ids_->add_text(id))
        source.fail(block.lines[k], "\"{}\" in {}, expected an integer (ids: names takes any text)",
                    excerpt(id), column);
      if (ids_->size() == before)
        source.fail(block.lines[k], "'{}' in {} occurs twice{}, expected one row for each node", excerpt(id),
                    column, twin.count > 0 ? fmt::format(", before as '{}'", excerpt(twin.name)) : "");
    }
  });
  listed_ = ids_->size();
}

int32_t NodeType::add(std::string_view id, TextSource& source, int64_t line, IdSpellings& spellings) {
  if (!ids_)
    ids_.emplace(integer_id(id, decimal_) && !is_code(id) ? NodeIds::Kind::integers : NodeIds::Kind::names,
                 decimal_);
  if (!chosen_ids_ && ids_->kind() == NodeIds::Kind::integers && is_code(id)) [[unlikely]]
    source.fail(
        line,
        "\"{}\", which begins with a zero, as codes do, but other ids of nodes \"{}\" do not (ids: names "
        "or integers says what they are)",
        excerpt(id), excerpt(table_.type));
  if (ids_->kind() == NodeIds::Kind::names) source.expect_utf8(line, id);
  const int32_t found = ids_->find(id, spellings);
  if (found >= 0) return found;
  if (!ids_->add_text(id))
    source.fail(line, "\"{}\", expected an integer, as {} of nodes \"{}\" (ids: names takes any text)",
                excerpt(id), rows_ ? "the ids in " + excerpt(table_.path) : std::string("the first id"),
                excerpt(table_.type));
  return static_cast<int32_t>(ids_->size() - 1);
}

void NodeType::leave_splits(std::string_view items) {
  if (!table_.split.empty())
    data_fail("{}: split-column {}: a split of {}s, expected one of {}, as the task is of {}",
              excerpt(table_.path), excerpt(table_.split), item(), items, items);
  split_items_ = items;
}

NodeFiles NodeType::node_files() const {
  NodeFiles files;
  files.features = table_.path;
  files.features_by_row = joined_;
  files.columns = {table_.id, table_.label, table_.features, table_.without, {}, false, ends_};
  files.types = table_.types;
  files.like = table_.like;
  files.impute = table_.impute;
  files.missing_labels = table_.missing_labels;
  files.task = table_.task;
  files.split_column = table_.split;
  files.split_items = split_items_;
  if (table_.split.empty() && columns_.label >= 0 && split_items_.empty()) files.split = files_.split;
  files.headers = rows_->head().header();
  files.item = item();
  files.read_elsewhere = {columns_.id, graph_, rows_->column(table_.time), rows_->column(table_.split)};
  return files;
}

void NodeType::read_table(ItemTable& items, std::vector<std::string>& notes) {
  Dataset alone;
  alone.graph = without_edges(size());
  if (size() > listed_) {
    std::vector<std::string> names;
    for (int64_t k = listed_; k < std::min(size(), listed_ + 4); ++k)
      names.push_back(ids_->text(static_cast<int32_t>(k)));
    notes.push_back(fmt::format("{}: {} of {} nodes \"{}\" without a row: {}{}", excerpt(table_.path),
                                size() - listed_, size(), excerpt(table_.type), detail::listed(names, 3),
                                size() - listed_ > 4 ? ", …" : ""));
  }
  if (graph_ >= 0 && size() > listed_)
    data_fail("{}: nodes without a row, first \"{}\", expected one for each, as it says the graph",
              excerpt(table_.path), excerpt(id(listed_)));
  const bool plain = columns_.features.empty() && columns_.label < 0;
  if (plain && table_.split.empty()) {
    rows_->read({columns_.id}, [](const RowFields&) {});
    notes.push_back(rows_->note() + columns_.id_note(rows_->names()) +
                    columns_.split_note(rows_->names(), item(), split_items_));
  } else if (plain) {
    ids_->move_to(alone);
    alone.splits = {
        split_by_column(alone, table_.path,
                        {table_.path, table_.split, joined_ ? "" : choice_for(columns_.id, rows_->names()),
                         joined_, rows_->head().header(), files_.text},
                        notes)};
    alone.use_first_split();
  } else {
    const size_t first = notes.size();
    NodeIds numbers(NodeIds::Kind::numbers);
    numbers.reserve_numbers(size());
    read_node_files(node_files(), files_.text, joined_ ? numbers : *ids_, alone, nullptr, notes);
    if (joined_) notes[first] += columns_.id_note(rows_->names());
    for (size_t k = first; k < notes.size(); ++k)
      if (notes[k].starts_with("split by seed")) notes[k] += fmt::format(" of \"{}\"", excerpt(table_.type));
  }
  items = std::move(static_cast<ItemTable&>(alone));
  if (table_.time.empty()) return;
  const auto item = [this](std::string_view id, int64_t row) {
    return joined_ ? static_cast<int32_t>(row) : ids_->find(id);
  };
  items.times = read_times(*rows_, rows_->column(table_.time), columns_.id, size(), item, notes);
}

ItemTable NodeType::items(std::vector<std::string>& notes) {
  ItemTable items;
  if (rows_) read_table(items, notes);
  ids_->move_to(items);
  return items;
}

}  // namespace adj
