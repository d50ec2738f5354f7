#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/number_rows.h>
#include <adjoint/graph/detail/index.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

constexpr int64_t kMostTypedItems = std::numeric_limits<int32_t>::max() - 1;

std::string relation_folder(const EdgeType& type) {
  return fmt::format("{}___{}___{}", type.src, type.name, type.dst);
}

std::vector<std::string> row_fields(std::string_view line) {
  std::vector<std::string> fields;
  for (FieldCursor cursor(line, Separator::comma); cursor.next();) fields.emplace_back(cursor.field());
  return fields;
}

/// int32: first and second one after the other.
Tensor joined(const Tensor& first, const std::vector<int32_t>& second) {
  Tensor all = Tensor::empty({first.numel() + std::ssize(second)}, DType::i32);
  int32_t* const end = std::copy_n(first.data<int32_t>(), first.numel(), all.mutable_data<int32_t>());
  std::copy(second.begin(), second.end(), end);
  return all;
}

/// Edges of one type as they are read.
struct TypedEdges {
  EdgeIndex index;
  Tensor features;                      // [M, E] or none
  int64_t number = -1;                  // of its relation in edge_reltype
  std::vector<int32_t> src[2], dst[2];  // of triples to validate, and to test
};

class TypedOgbReader {
 public:
  TypedOgbReader(const std::string& folder, const OgbOptions& options, std::vector<std::string>& notes)
      : root_(ogb::root_of(folder)), raw_(ogb::raw_folder(root_)), options_(options), notes_(notes) {
    for (const std::string& table : options.node_tables) ogb::expect_node_table(table);
  }

  TypedDataset read() {
    read_node_types();
    read_edge_types();
    for (const auto& [type, count] : counts_) read_nodes(type, count);
    expect_tables();
    const std::filesystem::path split =
        options_.has_split ? ogb::chosen_split(root_ / "split", options_.split) : std::filesystem::path();
    const bool labelled =
        std::ranges::any_of(data_.nodes, [](const auto& entry) { return entry.second.task != Task::none; });
    if (labelled)
      for (auto& [type, items] : data_.nodes) read_node_split(split / type, items);
    else if (!split.empty())
      read_links(split);
    make_graph();
    data_.name = root_.filename().string();
    return std::move(data_);
  }

 private:
  std::string path_in_raw(const char* name) const {
    const std::string path = ogb::text_file(raw_, name);
    if (path.empty()) data_fail("{}: {}.csv.gz is missing", excerpt(raw_.string()), name);
    return path;
  }

  void read_node_types() {
    TextSource source(path_in_raw("num-node-dict"));
    std::string_view line;
    const auto next = [&] { return source.next(line) ? row_fields(line) : std::vector<std::string>(); };
    const std::vector<std::string> types = next(), numbers = next();
    if (types.size() != numbers.size())
      source.fail(2, "{} fields, expected a number for each of {} types in line 1", numbers.size(),
                  types.size());
    for (size_t k = 0; k < types.size(); ++k) {
      const std::optional<int64_t> count = integer_in(numbers[k]);
      if (!count || *count < 1 || *count > kMostTypedItems)
        source.fail(2, "\"{}\" nodes of type \"{}\", expected 1 to {}", excerpt(numbers[k]),
                    excerpt(types[k]), kMostTypedItems);
      source.expect_utf8(1, types[k]);
      if (types[k].empty() || !counts_.emplace(types[k], *count).second)
        source.fail(1, "type \"{}\", expected different names", excerpt(types[k]));
    }
    if (!next().empty()) source.fail(3, "numbers of a second graph, expected one graph");
  }

  void read_edge_types() {
    TextSource source(path_in_raw("triplet-type-list"));
    for (std::string_view line; source.next(line);) {
      if (trimmed(line).empty()) continue;
      const std::vector<std::string> fields = row_fields(line);
      if (fields.size() != 3)
        source.fail(source.line_number(), "{} fields, expected source, relation and target", fields.size());
      source.expect_utf8(source.line_number(), line);
      for (const std::string& type : {fields[0], fields[2]})
        if (!counts_.contains(type))
          source.fail(source.line_number(), "nodes of type \"{}\", expected one of num-node-dict",
                      excerpt(type));
      const EdgeType type{fields[0], fields[1], fields[2]};
      if (edges_.contains(type))
        source.fail(source.line_number(), "{} again, expected each once", text_of(type));
      read_edges(type);
    }
    if (edges_.empty()) source.fail(0, "no types of edges, expected some");
    int64_t all = 0;
    for (const auto& [type, edges] : edges_) all += edges.index.src.numel();
    for (const auto& [type, count] : counts_)
      if (count > detail::most_bare_nodes(all) && !has_table("node-feat", type) &&
          !has_table("node-label", type))
        data_fail("{}: {} nodes of type \"{}\", but nothing has that many", path_in_raw("num-node-dict"),
                  count, excerpt(type));
  }

  void read_edges(const EdgeType& type) {
    const auto raw = ogb::open_text(raw_ / "relations" / relation_folder(type));
    const Tensor counts = raw->counts("num_edges_list", 0);
    if (counts.numel() != 1)
      raw->fail("num_edges_list", fmt::format("{} graphs, expected one", counts.numel()));
    const int64_t count = *counts.data<int64_t>(), sources = counts_.at(type.src),
                  targets = counts_.at(type.dst);
    TypedEdges& edges = edges_[type];
    edges.index = raw->edges(count, std::max(sources, targets) - 1);
    const int32_t *src = edges.index.src.data<int32_t>(), *dst = edges.index.dst.data<int32_t>();
    for (int64_t e = 0; e < count; ++e)
      if (src[e] >= sources || dst[e] >= targets)
        raw->fail_at("edge_index", e,
                     fmt::format("{} to {}, expected 0 to {} of \"{}\" and 0 to {} of \"{}\"", src[e], dst[e],
                                 sources - 1, excerpt(type.src), targets - 1, excerpt(type.dst)));
    if (raw->has("edge_feat")) edges.features = raw->numbers("edge_feat", count, false);
  }

  bool has_table(const char* name, const std::string& type) const {
    return !ogb::text_file(raw_ / name / type, name).empty();
  }

  void read_nodes(const std::string& type, int64_t count) {
    Dataset alone;
    std::vector<Tensor> tables;
    const auto features = ogb::open_text(raw_ / "node-feat" / type, "num-node-dict");
    if (features->has("node_feat")) tables.push_back(features->numbers("node_feat", count, false));
    for (const std::string& table : options_.node_tables)
      if (features->has(table)) {
        tables.push_back(features->numbers(table, count, false));
        found_tables_.push_back(table);
      }
    if (!tables.empty()) alone.x = Features(ogb::joined_columns(std::move(tables)));
    if (has_table("node-label", type)) {
      const auto labels = ogb::open_text(raw_ / "node-label" / type, "num-node-dict");
      ogb::set_labels(alone, *labels, "node_label", count, options_);
    }
    data_.nodes.emplace(type, std::move(static_cast<ItemTable&>(alone)));
  }

  void expect_tables() const {
    for (const std::string& table : options_.node_tables)
      if (std::ranges::find(found_tables_, table) == found_tables_.end())
        data_fail("{}: no type has {}.csv.gz, expected one in a folder of node-feat", excerpt(raw_.string()),
                  excerpt(table));
  }

  static void read_node_split(const std::filesystem::path& folder, ItemTable& items) {
    std::error_code error;
    if (items.task == Task::none || !std::filesystem::is_directory(folder, error)) return;
    items.splits.push_back(ogb::read_split(folder, items.y));
    items.use(items.splits[0]);
  }

  void read_links(const std::filesystem::path& folder) {
    if (options_.inverse_edges)
      usage_fail("--add-inverse-edges: expected none for triples, whose reverses say those to predict");
    std::map<int64_t, std::pair<const EdgeType*, TypedEdges*>> relations;
    for (auto& [type, edges] : edges_) {
      edges.number = relation_number(type, edges.index.src.numel());
      if (!relations.emplace(edges.number, std::pair(&type, &edges)).second)
        data_fail("{}: {} has the number {} in edge_reltype, as another", excerpt(raw_.string()),
                  text_of(type), edges.number);
    }
    int64_t counts[2] = {}, train = 0;
    for (size_t part : {0, 1}) {
      const char* const name = part == 0 ? "valid" : "test";
      const std::string path = ogb::text_file(folder, name);
      std::error_code error;
      if (path.empty() && std::filesystem::exists(folder / fmt::format("{}.pt", name), error))
        data_fail(
            "{}: a pickle of torch, which is not read, expected {}.csv beside it (docs/programs.md has the "
            "line of Python that writes it)",
            excerpt((folder / fmt::format("{}.pt", name)).string()), name);
      if (path.empty())
        data_fail("{}: no {}.csv or {}.csv.gz, expected triples", excerpt(folder.string()), name, name);
      counts[part] = read_triples(path, part, relations);
    }
    for (const auto& [type, edges] : edges_) train += edges.index.src.numel();
    links_ = true;
    notes_.push_back(
        fmt::format("triples: {} to train (raw/), {} to validate, {} to test", train, counts[0], counts[1]));
  }

  /// What edge_reltype says of all edges of a type.
  int64_t relation_number(const EdgeType& type, int64_t count) const {
    const std::filesystem::path folder = raw_ / "relations" / relation_folder(type);
    const std::string path = ogb::text_file(folder, "edge_reltype");
    if (path.empty()) data_fail("{}: edge_reltype.csv.gz is missing", excerpt(folder.string()));
    const RowFormat format{.columns = 1, .least = 0};
    TextSource source(path);
    const Tensor numbers = read_rows<int32_t>(source, format);
    if (numbers.numel() != count || count == 0)
      source.fail(0, "{} lines, expected {} as in num-edge-list, at least 1", numbers.numel(), count);
    const int32_t* const values = numbers.data<int32_t>();
    for (int64_t e = 1; e < count; ++e)
      if (values[e] != values[0])
        fail_row(path, format, e, "relation {}, expected {} as above", values[e], values[0]);
    return values[0];
  }

  int64_t read_triples(const std::string& path, size_t part,
                       const std::map<int64_t, std::pair<const EdgeType*, TypedEdges*>>& relations) {
    const std::vector<std::string> names{"head_type", "head", "relation", "tail_type", "tail"};
    TableRows rows(path, {}, Header::yes, names);
    std::vector<int64_t> columns;
    for (const std::string& name : names) columns.push_back(rows.column(name));
    return rows.read(columns, [&](const RowFields& block) {
      for (size_t k = 0; k < block.lines.size(); ++k) {
        const std::string_view* const fields = block.fields.data() + 5 * k;
        const int64_t line = block.lines[k];
        const std::optional<int64_t> number = integer_in(fields[2]);
        const auto found = number ? relations.find(*number) : relations.end();
        if (found == relations.end())
          rows.source().fail(line, "relation \"{}\", expected a number of edge_reltype", excerpt(fields[2]));
        const auto& [type, edges] = found->second;
        if (fields[0] != type->src || fields[3] != type->dst)
          rows.source().fail(line, "{} and {}, expected {} and {} as relation {} has", excerpt(fields[0]),
                             excerpt(fields[3]), excerpt(type->src), excerpt(type->dst), *number);
        edges->src[part].push_back(node_at(rows, line, fields[1], type->src));
        edges->dst[part].push_back(node_at(rows, line, fields[4], type->dst));
      }
    });
  }

  int32_t node_at(TableRows& rows, int64_t line, std::string_view field, const std::string& type) const {
    const std::optional<int64_t> node = integer_in(field);
    const int64_t count = counts_.at(type);
    if (!node || *node < 0 || *node >= count)
      rows.source().fail(line, "\"{}\", expected a node of \"{}\" from 0 to {}", excerpt(field),
                         excerpt(type), count - 1);
    return static_cast<int32_t>(*node);
  }

  void make_graph() {
    std::map<EdgeType, HeteroGraph::Edges> all;
    const auto add = [&](const EdgeType& type, const EdgeIndex& index, const Tensor& features,
                         ItemTable items) {
      EdgeAttributes attributes;
      if (features) {
        attributes.emplace("attr", features);
        items.x = Features(features);
      }
      if (!all.emplace(type, HeteroGraph::Edges{Relation::from_coo(counts_.at(type.src), counts_.at(type.dst),
                                                                   index.src, index.dst),
                                                attributes})
               .second)
        data_fail("{}: edges {}, as --add-inverse-edges adds, expected none", excerpt(raw_.string()),
                  text_of(type));
      data_.edges.emplace(type, std::move(items));
    };
    for (auto& [type, edges] : edges_) {
      if (links_) {
        add_links(type, edges, add);
      } else if (!options_.inverse_edges) {
        add(type, edges.index, edges.features, {});
      } else if (type.src != type.dst) {
        add(type, edges.index, edges.features, {});
        add({type.dst, "rev_" + type.name, type.src}, {edges.index.dst, edges.index.src}, edges.features, {});
      } else {
        add_reverses(type, edges, add);
      }
      edges = {};
    }
    HeteroGraph::NodeCounts counts(counts_.begin(), counts_.end());
    data_.graph = HeteroGraph(std::move(counts), std::move(all));
  }

  template <class Add>
  void add_links(const EdgeType& type, const TypedEdges& edges, Add add) const {
    const EdgeIndex& index = edges.index;
    const EdgeIndex with_val{joined(index.src, edges.src[0]), joined(index.dst, edges.dst[0])};
    const EdgeIndex with_test{joined(with_val.src, edges.src[1]), joined(with_val.dst, edges.dst[1])};
    const int64_t ends[3] = {index.src.numel(), with_val.src.numel(), with_test.src.numel()};
    ItemTable items;
    items.splits.push_back(
        {detail::range(0, ends[0]), detail::range(ends[0], ends[1]), detail::range(ends[1], ends[2])});
    items.use(items.splits[0]);
    if (edges.features)
      data_fail("{}: edge-feat, which triples to predict do not have, expected none", text_of(type));
    add(type, with_test, Tensor(), std::move(items));
  }

  /// Behind all edges those reversed that are no loops.
  template <class Add>
  static void add_reverses(const EdgeType& type, const TypedEdges& edges, Add add) {
    const int32_t *src = edges.index.src.data<int32_t>(), *dst = edges.index.dst.data<int32_t>();
    std::vector<int32_t> sources, targets, order(static_cast<size_t>(edges.index.src.numel()));
    std::iota(order.begin(), order.end(), 0);
    for (int32_t e = 0; e < edges.index.src.numel(); ++e) {
      if (src[e] == dst[e]) continue;
      sources.push_back(dst[e]);
      targets.push_back(src[e]);
      order.push_back(e);
    }
    add(type, EdgeIndex{joined(edges.index.src, sources), joined(edges.index.dst, targets)},
        edges.features ? detail::gather_edges(edges.features, Tensor::from(order)) : Tensor(), ItemTable());
  }

  std::filesystem::path root_, raw_;
  const OgbOptions& options_;
  std::vector<std::string>& notes_;
  std::map<std::string, int64_t, std::less<>> counts_;
  std::map<EdgeType, TypedEdges> edges_;
  std::vector<std::string> found_tables_;
  bool links_ = false;
  TypedDataset data_;
};

}  // namespace

bool is_typed_ogb(const std::string& folder) {
  return !ogb::text_file(ogb::raw_folder(ogb::root_of(folder)), "num-node-dict").empty();
}

TypedDataset import_typed_ogb(const std::string& folder, const OgbOptions& options,
                              std::vector<std::string>& notes) {
  return TypedOgbReader(folder, options, notes).read();
}

}  // namespace adj
