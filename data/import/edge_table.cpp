#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/column_contents.h>
#include <adjoint/data/import/detail/edge_table.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/detail/listed_ids.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/imported_edges.h>
#include <adjoint/data/import/split_table.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace adj {

namespace {

using detail::gather_edges;

Tensor rows_of(const Tensor& values, const Tensor& rows) {
  return values ? gather_edges(values, rows) : values;
}

/// Without a label or time from row `first` on.
void erase_answers(ItemTable& items, int64_t first) {
  if (items.y) {
    const int64_t width = items.y.dims() == 2 ? items.y.size(1) : 1, count = items.y.numel();
    if (items.y.dtype() == DType::i32)
      std::fill(items.y.mutable_data<int32_t>() + first, items.y.mutable_data<int32_t>() + count, -1);
    else
      std::fill(items.y.mutable_data<float>() + first * width, items.y.mutable_data<float>() + count,
                std::numeric_limits<float>::quiet_NaN());
  }
  if (items.times)
    std::fill(items.times.mutable_data<int64_t>() + first,
              items.times.mutable_data<int64_t>() + items.times.numel(), ItemTable::kNoTime);
}

}  // namespace

EdgeTable::EdgeTable(const EdgeTableFile& table, const TableFiles& files, NodeTypes& types)
    : table_(table), files_(files), rows_(table.path, files.text, files.header, [&] {
        std::vector<std::string> chosen = table.features;
        chosen.insert(chosen.end(), {table.columns.source, table.columns.target, table.columns.weight,
                                     table.relation, table.label, table.time, table.split, table.graph});
        return chosen;
      }()) {
  const auto find = [&](const EdgeColumnNames& chosen) {
    return rows_.has_header() ? edge_columns(rows_.names(), chosen, rows_.place())
                              : edge_columns(rows_.columns(), chosen, rows_.place());
  };
  if (rows_.columns() < 2)
    data_fail("{}: one column, expected two ids (separator says what is between them)", rows_.place());
  columns_ = find(table_.columns);
  if (find_typed_columns(types)) columns_ = find(table_.columns);
  if (columns_.rule == EdgeColumns::Rule::none)
    data_fail(
        "{}: {} columns, of which names make none source and target, expected source and target to say which "
        "(a name of the header, or a number from 1)",
        rows_.place(), rows_.columns());
  expect_one_weight(columns_, rows_.names(), rows_.place(), "weight");
  if (table_.coalesce && !distinction().empty())
    data_fail("{}: coalesce: conflicts with {}, as equal edges may have different ones", rows_.place(),
              distinction());
  expect_one_label(table_.label, rows_.names(), rows_.place());
  graph_ = rows_.column(table_.graph);
  if (table_.like) {
    const std::vector<int64_t> columns =
        columns_like(table_.features, rows_.names(), rows_.columns(),
                     fmt::format("{}, attributes as in {}", rows_.place(), excerpt(table_.like->path)));
    table_.features.clear();
    for (const int64_t column : columns) table_.features.push_back(choice_for(column, rows_.names()));
  }
  find_types(types);
  find_relation(find({}));
  const bool takes_all = table_.features == std::vector<std::string>{"all"} &&
                         std::ranges::find(rows_.names(), "all") == rows_.names().end();
  if (takes_all) table_.features.clear();
  const std::vector<int64_t> used = purposes();
  const FirstFields fields = takes_all ? rows_.first_fields() : FirstFields();
  for (int64_t k = 0; k < rows_.columns() && takes_all; ++k)
    if (std::ranges::find(used, k) == used.end() && !tells_rows(k, rows_.names(), fields))
      table_.features.push_back(choice_for(k, rows_.names()));
  if (std::ranges::count(purposes(), columns_.direction) > 0) columns_.direction = -1;  // it has a purpose
  rows_.expect_distinct(purposes());
  rows_.expect_distinct({columns_.source_type, columns_.target_type, relation_, columns_.weight});
  if (columns_.source_type >= 0) return;  // rows name the types
  for (const std::string& name : {type_.src, type_.dst}) {
    NodeTableFile alone;
    alone.type = name;
    types.try_emplace(name, alone, files);
  }
}

void EdgeTable::find_relation(const EdgeColumns& without_choice) {
  if (table_.relation == "none") return;
  if (!table_.relation.empty())
    relation_ = rows_.column(table_.relation);
  else if (table_.type.name.empty())
    relation_ = without_choice.relation;
}

void EdgeTable::read_ends(NodeTypes& types) {
  const bool weighted = columns_.weight >= 0, typed = columns_.source_type >= 0;
  std::array<NodeType*, 2> ends{};
  if (!typed) ends = {&types.at(type_.src), &types.at(type_.dst)};
  const std::array listed{typed ? 0 : ends[0]->size(), typed ? 0 : ends[1]->size()};
  std::unordered_map<std::string, int32_t> numbers;  // of kinds, by the fields that say them
  std::vector<std::array<NodeType*, 2>> types_of;    // by kind
  TextSource& source = rows_.source();
  const auto fail_missing = [&](std::string_view field, int64_t line, int64_t column) {
    source.fail(line, "\"{}\" in {}, expected {} (missing-ids: drop passes over such lines)", excerpt(field),
                column_text(column, rows_.names()),
                column == relation_                                      ? "the name of a type of edges"
                : column == columns_.source || column == columns_.target ? "the id of a node"
                                                                         : "the name of a type of nodes");
  };
  const auto add = [&](size_t end, std::string_view id, std::string_view graph, int64_t line) {
    const std::string joined = graph_ < 0 ? "" : ends[end]->joined(graph, id);
    const int32_t node = ends[end]->add(graph_ < 0 ? id : joined, source, line, spellings_);
    if (doubtful_[end] && node >= listed[end]) fail_doubtful(end, id, line);
    return node;
  };
  const auto kind_in = [&](const std::string_view* field, int64_t line) {
    const std::string relation = relation_ < 0 ? "" : relations_.text(relations_.add(field[2]));
    std::string key = relation;
    if (typed) key.append(1, '\0').append(field[5]).append(1, '\0').append(field[6]);
    const auto [entry, is_new] = numbers.try_emplace(std::move(key), static_cast<int32_t>(kinds_.size()));
    if (!is_new) return entry->second;
    EdgeType kind = type_;
    for (const size_t slot : {2, 5, 6}) source.expect_utf8(line, field[slot]);
    if (relation_ >= 0) kind.name = relation;
    if (typed) kind.src = type_called(field[5], types);
    if (typed) kind.dst = type_called(field[6], types);
    entry->second = static_cast<int32_t>(std::ranges::find(kinds_, kind) - kinds_.begin());
    if (entry->second == std::ssize(kinds_)) {
      types_of.push_back({&types.at(kind.src), &types.at(kind.dst)});
      kinds_.push_back(std::move(kind));
    }
    return entry->second;
  };
  IdRange below;
  rows_.read({columns_.source, columns_.target, relation_, columns_.weight, graph_, columns_.source_type,
              columns_.target_type, columns_.direction},
             [&](const RowFields& block) {
               if (std::ssize(src_) + std::ssize(block.lines) > ImportedEdges::kMost)
                 source.fail(block.lines.back(), "expected at most {} edges, found more",
                             ImportedEdges::kMost);
               for (size_t k = 0; k < block.lines.size(); ++k) {
                 const std::string_view* field = block.fields.data() + 8 * k;
                 const int64_t line = block.lines[k];
                 bool dropped = false;
                 for (const auto& [slot, column] : {std::pair{0, columns_.source},
                                                    {1, columns_.target},
                                                    {2, relation_},
                                                    {5, columns_.source_type},
                                                    {6, columns_.target_type}}) {
                   if (column < 0 || !is_missing_id(field[slot])) continue;
                   if (table_.missing_ids == MissingIds::keep && !field[slot].empty()) continue;
                   if (table_.missing_ids != MissingIds::drop) fail_missing(field[slot], line, column);
                   without_id_.add(line, column);
                   dropped = true;
                 }
                 directions_.count(field[7]);
                 for (const size_t end : {0, 1})
                   if (line > rows_.head().format.first_line)
                     below.add(list_id(field[end], rows_.head().decimal).value_or(-1));
                 if (has_kinds()) kind_of_.push_back(dropped ? -1 : kind_in(field, line));
                 if (typed && !dropped) ends = types_of[static_cast<size_t>(kind_of_.back())];
                 src_.push_back(dropped ? -1 : add(0, field[0], field[4], line));
                 dst_.push_back(dropped ? -1 : add(1, field[1], field[4], line));
                 if (!weighted) continue;
                 const std::optional<float> weight = rows_.head().number_in(field[3]);
                 if (!weight && !dropped)
                   source.fail(line, "\"{}\" in {}, expected a weight, finite and within float32{}",
                               excerpt(field[3]), column_text(columns_.weight, rows_.names()),
                               rows_.head().decimal_hint(field[3]));
                 if (weight) rounding_.add(field[3], *weight);
                 if (weight) thousands_.add(field[3]);
                 weights_.push_back(weight.value_or(1.0f));
               }
             });
  if (weighted) thousands_.expect_decimal(source, rows_.head(), column_text(columns_.weight, rows_.names()));
  if (without_id_.lines() == std::ssize(src_)) source.fail(0, "no line with both ids, expected some");
  if (directions_.differ() && table_.relation.empty() && columns_.rule != EdgeColumns::Rule::chosen)
    source.fail(0,
                "column \"{0}\" says Directed in {1} and Undirected in {2} lines, expected edges of one kind "
                "(relation {0} makes two types of edges, relation none takes all as one)",
                excerpt(column_name(columns_.direction, rows_.names())), directions_.directed,
                directions_.undirected);
  if (files_.header == Header::find_out && !chosen_ends_ && ends[0] == ends[1])
    expect_no_counts(source, rows_.head(), std::ssize(src_), below);
  expect_single_ids(types);
  expect_one_header(types);
  note_bare(types);
}

void EdgeTable::expect_one_header(const NodeTypes& types) const {
  const int64_t repeats = rows_.skipped().headers;
  if (repeats == 0 || columns_.source_type >= 0 || graph_ >= 0) return;
  for (const auto& [column, type] : {std::pair(columns_.source, &type_.src), {columns_.target, &type_.dst}})
    if (const std::string name = column_name(column, rows_.names());
        types.at(*type).ids().kind() == NodeIds::Kind::names && types.at(*type).ids().find(name) >= 0)
      data_fail(
          "{}: {} line{} the header, \"{}\", which may be an edge, as \"{}\" is a node, expected the header "
          "once",
          rows_.place(), repeats, repeats == 1 ? " repeats" : "s repeat", excerpt(rows_.head().row),
          excerpt(name));
}

void EdgeTable::expect_single_ids(const NodeTypes& types) const {
  if (columns_.source_type >= 0 || graph_ >= 0) return;
  const NodeType &sources = types.at(type_.src), &targets = types.at(type_.dst);
  std::vector<bool> is_source(static_cast<size_t>(&sources == &targets ? targets.size() : 0));
  if (!is_source.empty())
    for (const int32_t node : src_)
      if (node >= 0) is_source[static_cast<size_t>(node)] = true;
  const std::string list = detail::listed_ids(targets.ids(), is_source, sources.ids(), chosen_ends_);
  if (!list.empty())
    data_fail(
        "{}: \"{}\" in {}, which may be a list of ids, expected one (convert edges --layout neighbors reads "
        "a node and its neighbours in each line{})",
        rows_.place(), excerpt(list), column_text(columns_.target, rows_.names()),
        chosen_ends_ ? "" : "; with source and target it is one");
}

std::vector<int64_t> EdgeTable::purposes() const {
  std::vector<int64_t> columns{columns_.source, columns_.target, columns_.weight, relation_, graph_};
  for (const std::string& attribute : table_.features) columns.push_back(rows_.column(attribute));
  if (is_labelled()) columns.push_back(rows_.column(table_.label));
  for (const std::string* column : {&table_.time, &table_.split}) columns.push_back(rows_.column(*column));
  for (const int64_t column : {columns_.source_type, columns_.target_type})  // which may be attributes, too
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  return columns;
}

std::string_view EdgeTable::distinction() const {
  return is_labelled()              ? "label"
         : !table_.features.empty() ? "attributes"
         : !table_.split.empty()    ? "split-column"
         : !table_.time.empty()     ? "time"
                                    : "";
}

bool EdgeTable::is_labelled() const { return !table_.label.empty() && table_.label != "none"; }

std::string EdgeTable::note() const {
  const auto name = [&](int64_t column) { return excerpt(column_name(column, rows_.names())); };
  const bool typed = columns_.source_type >= 0;
  std::string note =
      rows_.note() + fmt::format("; edges from {} ({}) to {} ({})", name(columns_.source),
                                 typed ? "types from " + name(columns_.source_type) : excerpt(type_.src),
                                 name(columns_.target),
                                 typed ? "types from " + name(columns_.target_type) : excerpt(type_.dst));
  std::vector<std::string> relations;
  for (const EdgeType& kind : kinds_)
    if (std::ranges::find(relations, kind.name) == relations.end()) relations.push_back(kind.name);
  if (relation_ >= 0)
    note += fmt::format("; {} type{} from {}: {}", relations.size(), relations.size() == 1 ? "" : "s",
                        name(relation_), detail::listed(relations, 5)) +
            relations_.spellings().note("type");
  else
    note += fmt::format(" as \"{}\"", excerpt(type_.name));
  if (!bare_.empty())
    note += fmt::format(
        "; without a table of nodes: {}{}", detail::listed(bare_, 5),
        table_.type.src.empty() && !typed ? " (the type of edges, SOURCE:NAME:TARGET, says which)" : "");
  if (columns_.weight >= 0) note += "; weights from " + name(columns_.weight);
  std::vector<std::string> attributes;
  for (const std::string& attribute : table_.features) attributes.push_back(name(rows_.column(attribute)));
  if (!attributes.empty()) note += "; attributes from " + detail::listed(attributes, 10);
  int64_t zeros = 0;
  for (size_t k = 0; k < weights_.size(); ++k) zeros += src_[k] >= 0 && weights_[k] == 0.0f;
  if (zeros > 0)
    note += fmt::format("; {} of {} weights are 0", zeros, std::ssize(weights_) - without_id_.lines());
  note += rounding_.note("weight") + thousands_.note(rows_.head(), "weight") + spellings_.note();
  if (const int64_t dropped = without_id_.lines(); dropped > 0)
    note += fmt::format("; {} line{} without an id dropped{}", dropped, dropped == 1 ? "" : "s",
                        without_id_.place(rows_.names()));
  if (!table_.undirected && directions_.all_undirected())
    note += "; the file calls its edges undirected (undirected adds the reverses)";
  const std::string others = passed_over(purposes(), rows_.names(), rows_.columns());
  note += columns_.guess_note(rows_.columns(), "");
  if (columns_.may_be_triples(rows_.head().first, rows_.head().second) && type_.src == type_.dst) {
    std::vector<bool> sources, targets;
    const auto mark = [](std::vector<bool>& nodes, int32_t node) {
      if (node >= std::ssize(nodes)) nodes.resize(static_cast<size_t>(node) + 1);
      if (node >= 0) nodes[static_cast<size_t>(node)] = true;
    };
    for (const int32_t node : src_) mark(sources, node);
    for (const int32_t node : dst_) mark(targets, node);
    bool apart = true;
    for (size_t k = 0; k < std::min(sources.size(), targets.size()); ++k)
      apart = apart && !(sources[k] && targets[k]);
    if (apart)
      note += relation_note(std::ssize(src_) - without_id_.lines(), std::ranges::count(targets, true),
                            "source 1, target 3, relation 2: it is one");
  }
  return note + others +
         (others.empty() ? "" : " (attributes takes them as attributes; all: every one but ids of rows)");
}

EdgeTable::KindRows EdgeTable::rows_by_kind() const {
  KindRows rows(kinds().size());
  for (size_t k = 0; k < src_.size(); ++k)
    if (src_[k] >= 0)
      rows[has_kinds() ? static_cast<size_t>(kind_of_[k]) : 0].push_back(static_cast<int32_t>(k));
  return rows;
}

std::vector<Split> EdgeTable::draw_splits(const Tensor& labels, const KindRows& rows,
                                          const HeteroGraph::NodeCounts& counts) const {
  const std::vector<EdgeType> types = kinds();
  std::vector<std::array<std::vector<int32_t>, 3>> parts(static_cast<size_t>(files_.split->count));
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<int32_t> src, dst;
    for (const int32_t row : rows[r]) {
      src.push_back(src_[static_cast<size_t>(row)]);
      dst.push_back(dst_[static_cast<size_t>(row)]);
    }
    const EdgeIndex ends{Tensor::from(src), Tensor::from(dst)};
    const Tensor row_labels = gather_edges(labels, Tensor::from(rows[r]));
    const bool pairs =
        types[r].src == types[r].dst &&
        (table_.undirected || Graph::from_coo(counts.at(types[r].src), ends.src, ends.dst).is_symmetric());
    const std::vector<Split> drawn =
        pairs ? files_.split->draw_pairs(ends, row_labels, path())
              : files_.split->draw(row_labels, std::ssize(rows[r]), path(), "edges");
    for (size_t k = 0; k < drawn.size(); ++k)
      for (size_t part = 0; const Tensor* places : {&drawn[k].train, &drawn[k].val, &drawn[k].test}) {
        for (const int32_t place : places->to_vector<int32_t>())
          parts[k][part].push_back(rows[r][static_cast<size_t>(place)]);
        ++part;
      }
  }
  std::vector<Split> splits;
  for (const auto& [train, val, test] : parts)
    splits.push_back({Tensor::from(train), Tensor::from(val), Tensor::from(test)});
  return splits;
}

ItemTable EdgeTable::row_items(const KindRows& rows, const HeteroGraph::NodeCounts& counts,
                               std::vector<std::string>& notes) {
  Dataset alone;
  const int64_t count = std::ssize(src_);
  const bool labelled = is_labelled();
  const Tensor none = Tensor::empty({0}, DType::i32);
  const auto header = rows_.head().header();
  if (!table_.features.empty() || labelled) {
    alone.graph = Graph::from_coo(count, none, none);
    NodeIds numbers(NodeIds::Kind::numbers);
    numbers.reserve_numbers(count);
    NodeFiles files;
    files.features = table_.path;
    files.features_by_row = true;
    files.columns.label = labelled ? table_.label : "none";
    files.columns.features = table_.features;
    for (int64_t k = 0; k < rows_.columns() && table_.features.empty(); ++k)
      files.columns.without.push_back(choice_for(k, rows_.names()));
    files.types = table_.types;
    files.like = table_.like;
    files.impute = table_.impute;
    files.missing_labels = table_.missing_labels;
    files.signed_classes = true;
    files.task = table_.task;
    files.split_column = table_.split;
    if (draws_splits()) files.draw = [&](const Tensor& labels) { return draw_splits(labels, rows, counts); };
    files.item = "edge";
    files.headers = header;
    files.read_elsewhere = purposes();
    read_node_files(files, files_.text, numbers, alone, nullptr, notes);
  } else if (!table_.split.empty()) {
    alone.graph = Graph::from_coo(count, none, none);
    alone.splits = {split_by_column(
        alone, path(), {table_.path, table_.split, "", true, header, files_.text, false, "edge"}, notes)};
  }
  ItemTable items = std::move(static_cast<ItemTable&>(alone));
  if (!table_.time.empty())
    items.times = read_times(
        rows_, rows_.column(table_.time), -1, count,
        [](std::string_view, int64_t row) { return static_cast<int32_t>(row); }, notes);
  return items;
}

std::vector<EdgeTable::Part> EdgeTable::parts(const HeteroGraph::NodeCounts& counts,
                                              std::vector<std::string>& notes) {
  notes.push_back(note());
  const KindRows rows = rows_by_kind();
  const ItemTable items = row_items(rows, counts, notes);
  const std::vector<EdgeType> types = kinds();
  std::vector<Part> parts;
  for (size_t r = 0; r < rows.size(); ++r) {
    const EdgeType& type = types[r];
    parts.push_back(part(type, rows[r], items, counts));
    if (table_.coalesce)
      notes.push_back(
          fmt::format("{}: {} of {} edges {} merged with equal ones{}{}", excerpt(path()),
                      parts.back().merged, parts.back().edges.relation.num_edges() + parts.back().merged,
                      text_of(type), weights_.empty() ? "" : ", adding their weights", parts.back().zeros));
    if (draws_splits())
      notes.push_back(fmt::format("{} of \"{}\"", files_.split->note(parts.back().items.splits, "edges"),
                                  excerpt(type.name)));
    if (!table_.undirected || type.src == type.dst) continue;
    const Part& forward = parts.back();
    Part backward{{type.dst, "rev_" + type.name, type.src}, {}, {}};
    backward.edges.relation = forward.edges.relation.reversed();
    const EdgeIndex reversed = backward.edges.relation.edge_index();
    backward.edges.relation =
        Relation::from_coo(counts.at(type.dst), counts.at(type.src), reversed.src, reversed.dst);
    backward.edges.attributes = forward.edges.attributes;
    backward.items.x = forward.items.x;
    backward.items.feature_names = forward.items.feature_names;
    backward.items.encoder = forward.items.encoder;
    parts.push_back(std::move(backward));
  }
  return parts;
}

EdgeTable::Part EdgeTable::part(const EdgeType& type, const std::vector<int32_t>& rows,
                                const ItemTable& items, const HeteroGraph::NodeCounts& counts) const {
  std::vector<int32_t> src, dst, all = rows;
  for (const int32_t row : rows) {
    src.push_back(src_[static_cast<size_t>(row)]);
    dst.push_back(dst_[static_cast<size_t>(row)]);
  }
  const auto first_reverse = static_cast<int64_t>(rows.size());
  if (table_.undirected && type.src == type.dst)
    for (size_t k = 0; k < rows.size(); ++k) {
      if (src[k] == dst[k]) continue;
      src.push_back(dst[k]);
      dst.push_back(src[k]);
      all.push_back(rows[k]);
    }
  const Tensor index = Tensor::from(all);
  EdgeIndex edges{Tensor::from(src), Tensor::from(dst)};
  Tensor weight = weights_.empty() ? Tensor() : gather_edges(Tensor::from(weights_), index);
  Part part{type, {}, items};
  if (table_.coalesce) {
    const Graph whole =
        Graph::from_coo(std::max(counts.at(type.src), counts.at(type.dst)), edges.src, edges.dst, weight);
    const Graph merged = coalesce(whole);
    part.merged = whole.num_edges() - merged.num_edges();
    edges = merged.edge_index();
    weight = merged.edge_weight();
    part.zeros = detail::zero_weights(weight);
  }
  if (weight && !std::ranges::all_of(weight.to_vector<float>(), [](float w) { return std::isfinite(w); }))
    data_fail("{}: weights of equal edges {} add up to more than float32 holds, expected a sum within it",
              excerpt(path()), text_of(type));
  part.edges.relation = Relation::from_coo(counts.at(type.src), counts.at(type.dst), edges.src, edges.dst);
  if (weight) part.edges.attributes.emplace("weight", weight);
  ItemTable& table = part.items;
  if (items.x) {
    table.x = items.x.rows(index);
    part.edges.attributes.emplace("attr", table.x.to_dense());
  }
  table.y = rows_of(items.y, index);
  table.times = rows_of(items.times, index);
  erase_answers(table, first_reverse);
  if (table.y) table.unlabelled = detail::count_unlabelled(table.y);
  std::vector<int32_t> place(src_.size(), -1);
  for (size_t k = 0; k < rows.size(); ++k) place[static_cast<size_t>(rows[k])] = static_cast<int32_t>(k);
  for (Split& split : table.splits)
    for (Tensor* list : {&split.train, &split.val, &split.test}) {
      std::vector<int32_t> kept;
      for (const int32_t row : list->to_vector<int32_t>())
        if (place[static_cast<size_t>(row)] >= 0) kept.push_back(place[static_cast<size_t>(row)]);
      if (kept.empty())
        data_fail("{}: a part of the split has no edges of type {}, expected some in each", excerpt(path()),
                  text_of(type));
      *list = Tensor::from(kept);
    }
  table.train = table.val = table.test = {};
  if (!table.splits.empty()) table.use(table.splits[0]);
  return part;
}

}  // namespace adj
