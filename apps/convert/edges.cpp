#include "../common/command_line.h"
#include "formats.h"
#include "like_file.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/edge_list.h>

#include <memory>

#include <fmt/ranges.h>

namespace po = boost::program_options;

namespace adj::apps {

namespace {

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  for (FieldCursor cursor(list, Separator::comma); cursor.next();) items.emplace_back(cursor.field());
  return items;
}

Header header_of(const char* option, const std::string& text) {
  if (text == "auto") return Header::find_out;
  if (text != "yes" && text != "no") usage_fail("--{} {}: expected auto, yes or no", option, text);
  return text == "yes" ? Header::yes : Header::no;
}

/// "zip=hash:64".
ColumnChoice column_choice(const std::string& item) {
  constexpr int64_t kHashColumns = 64, kTextColumns = 256, kMostColumns = 1 << 20;
  const size_t equals = item.rfind('='), colon = item.find(':', equals == std::string::npos ? 0 : equals);
  const std::string name =
      equals == std::string::npos
          ? ""
          : item.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
  const std::optional<ColumnType> type = value_named<ColumnType>(name);
  if (!type)
    usage_fail("--types {}: expected COLUMN=TYPE, separated by commas, with a type of {}", item,
               fmt::join(names_of(ColumnType{}), ", "));
  const bool hashed = type == ColumnType::hash || type == ColumnType::text;
  ColumnChoice choice{item.substr(0, equals), *type};
  if (hashed) choice.columns = type == ColumnType::hash ? kHashColumns : kTextColumns;
  if (colon == std::string::npos) return choice;
  const std::optional<int64_t> columns = integer_in(item.substr(colon + 1));
  if (!hashed || !columns || *columns < 1 || *columns > kMostColumns)
    usage_fail("--types {}: expected a number of columns from 1 to {}, of hash or text, as in zip=hash:64",
               item, kMostColumns);
  choice.columns = *columns;
  return choice;
}

struct Given {
  EdgeListOptions edges;
  std::string ids = "auto", task = "node_class", header = "auto", node_headers = "auto",
              missing_ids = "error", comment, separator, decimal, missing_labels, impute, columns, without,
              types, like, weight_column;
  bool has_comment = false, has_missing_labels = false, unweighted = false;
  std::shared_ptr<const SplitOptions> splits;
  std::vector<std::string> notes;

  /// Throws UsageError.
  EdgeListOptions checked() const {
    EdgeListOptions o = edges;
    using enum NodeIds::Kind;
    for (const auto& [name, kind] : {std::pair("integers", integers), {"names", names}, {"numbers", numbers}})
      if (ids == name) o.ids = kind;
    if (!o.ids && ids != "auto") usage_fail("--ids {}: expected auto, integers, names or numbers", ids);
    if (o.nodes < 0 || o.nodes > NodeIds::kMost)
      usage_fail("--nodes: expected 0 to {}, got {}", NodeIds::kMost, o.nodes);
    if (o.nodes > 0 && ids != "numbers") usage_fail("--nodes: requires --ids numbers");
    if (o.columns.source.empty() != o.columns.target.empty())
      usage_fail("--source, --target: expected both or neither");
    if (missing_ids != "error" && missing_ids != "drop" && missing_ids != "keep")
      usage_fail("--missing-ids {}: expected error, drop or keep", missing_ids);
    o.missing_ids = missing_ids == "drop"   ? MissingIds::drop
                    : missing_ids == "keep" ? MissingIds::keep
                                            : MissingIds::fail;
    o.header = header_of("header", header);
    if ((!weight_column.empty() || unweighted) &&
        (!o.columns.weight.empty() || !weight_column.empty() == unweighted))
      usage_fail(
          "--weight-column, --unweighted: older forms of --weight COLUMN and --weight none, expected one of "
          "them");
    if (unweighted) o.columns.weight = "none";
    if (!weight_column.empty()) o.columns.weight = weight_column;
    if (has_comment) o.text.comment = comment;
    check_text(o.text);
    check_node_files(o.node_files);
    return o;
  }

 private:
  void check_text(TextFormat& text) const {
    if (const std::string& name = text.input.encoding; !name.empty() && !is_encoding(name))
      usage_fail("--encoding {}: iconv knows no such encoding, expected one of iconv --list", excerpt(name));
    if (!decimal.empty()) {
      if (decimal != "point" && decimal != "comma")
        usage_fail("--decimal {}: expected point or comma", decimal);
      text.decimal = decimal == "comma" ? Decimal::comma : Decimal::point;
    }
    if (separator.empty()) return;
    const std::string between = separator == " " ? "" : separator == "\\t" ? "\t" : separator;
    if (between.size() > Separator::kLongest || between.find_first_of("\"\r\n") != std::string::npos)
      usage_fail("--separator {}: expected at most {} bytes, without quotes and line ends",
                 excerpt(separator), Separator::kLongest);
    text.separator = Separator(between);
    if (between == "," && text.decimal == Decimal::comma)
      usage_fail("--separator ,: conflicts with --decimal comma");
  }

  void check_node_files(NodeFiles& files) const {
    files.headers = header_of("node-headers", node_headers);
    for (Task known : {Task::node_class, Task::node_multilabel, Task::node_regression})
      if (task == name_of(known)) files.task = known;
    if (task != name_of(files.task))
      usage_fail("--task {}: expected node_class, node_multilabel or node_regression", task);
    const bool labelled = !files.labels.empty() || !files.features.empty();  // or a column of it
    if (files.task != Task::node_class && !labelled) usage_fail("--task: requires --labels or --features");
    if (has_missing_labels && !labelled) usage_fail("--missing-labels: requires --labels or --features");
    check_columns(files);
    if (files.headers != Header::find_out && !labelled && files.train.empty())
      usage_fail("--node-headers: requires --features, --labels or --train");
    if (ids == "names" && (files.features_by_row || files.labels_by_row))
      usage_fail("--features-by-row, --labels-by-row: require integer ids");
    if (has_missing_labels) {
      if (files.task != Task::node_class) usage_fail("--missing-labels: requires --task node_class");
      files.missing_labels = items_of(missing_labels);
    }
    for (Imputation known : {Imputation::mean, Imputation::median, Imputation::zero})
      if (impute == name_of(known)) files.impute = known;
    if (!impute.empty() && !files.impute) usage_fail("--impute {}: expected mean, median or zero", impute);
    if (files.impute && files.features.empty()) usage_fail("--impute: requires --features");
    if (files.train.empty() != files.val.empty() || files.val.empty() != files.test.empty())
      usage_fail("--train, --val, --test: expected all three or none");
    files.split = splits->random();
    if (files.split && !files.train.empty()) usage_fail("--split: conflicts with --train, --val and --test");
    if (splits->stratified && (!labelled || files.task != Task::node_class))
      usage_fail("--stratified: requires labels and --task node_class");
  }

  void check_columns(NodeFiles& files) const {
    const auto listed = [](const std::string& list) {
      return list.empty() ? std::vector<std::string>() : items_of(list);
    };
    files.columns.features = listed(columns);
    files.columns.without = listed(without);
    for (const std::string& item : listed(types)) files.types.push_back(column_choice(item));
    const NodeColumnNames& c = files.columns;
    if (!like.empty()) {
      if (files.features.empty()) usage_fail("--like: requires --features");
      if (!c.features.empty() || !c.without.empty() || !types.empty() || !impute.empty())
        usage_fail(
            "--like: conflicts with --columns, --without, --types and --impute, which its file decides");
      files.like = read_like_file(like);
    }
    const bool any = !c.id.empty() || !c.features.empty() || !c.without.empty() || !files.types.empty();
    if (any && files.features.empty()) usage_fail("--id, --columns, --without, --types: require --features");
    if (!c.label.empty() && files.features.empty() && files.labels.empty())
      usage_fail("--label: requires --features or --labels");
    if (!c.features.empty() && !c.without.empty()) usage_fail("--columns: conflicts with --without");
    if (!c.id.empty() && files.features_by_row) usage_fail("--id: conflicts with --features-by-row");
  }
};

}  // namespace

Format edges_format(std::shared_ptr<const SplitOptions> splits) {
  const auto arguments = std::make_shared<Given>();
  arguments->splits = std::move(splits);
  EdgeListOptions& o = arguments->edges;
  NodeFiles& files = o.node_files;
  Format format{
      "edges",
      "an edge list: SNAP text, CSV, or Matrix Market, plain or gzip, also from a pipe (-: standard input)",
      po::options_description("Options of edges"),
      {}};
  const auto file = [](std::string& path) { return po::value(&path)->value_name("FILE"); };
  auto add = format.options.add_options();
  add("ids", with_default(arguments->ids),
      "integers or names: numbered by first appearance, and kept; numbers: 0 to N - 1, unchanged; auto: by "
      "the first edge");
  add_options(format.options, {{"nodes", &o.nodes, "N", "with --ids numbers: minimum number of nodes"}});
  add("header", with_default(arguments->header),
      "yes or no; auto: yes if the first line has no number, its ids appear nowhere else, and the lines "
      "below differ");
  add("comment", po::value(&arguments->comment)->value_name("PREFIX")->notifier([arguments](const auto&) {
    arguments->has_comment = true;
  }),
      "skip lines with this prefix, in all files; '': skip none (default: # or %, before the first row)");
  add("encoding", po::value(&o.text.input.encoding)->value_name("NAME"),
      "encoding of all files, as latin1, cp1252 or another name that iconv knows (default: UTF-8; a byte "
      "order "
      "mark of UTF-8, UTF-16 or UTF-32 decides)");
  add("separator", po::value(&arguments->separator)->value_name("TEXT"),
      "what is between two fields, in all files: any text as :: or |, \\t for a tab, ' ' for any blanks "
      "(default: the first of tab, semicolon and comma that is in the first line, else blanks)");
  add("decimal", po::value(&arguments->decimal)->value_name("MARK"),
      "decimal mark of numbers, in all files: point or comma (default: point; columns that may have commas "
      "are an error)");
  const auto column = [](std::string& name) { return po::value(&name)->value_name("COLUMN"); };
  add("source", column(o.columns.source),
      "column of source ids: its name in the header, or its number from 1 (default: by names as source, src, "
      "from, head or :START_ID, else the first)");
  add("target", column(o.columns.target), "the same for target ids (target, dst, to, tail, :END_ID, …)");
  add("weight", column(o.columns.weight),
      "column of edge weights (default: one called weight); none: no weights, also of a Matrix Market file");
  add("weight-column", column(arguments->weight_column), "older name of --weight");
  add("unweighted", po::bool_switch(&arguments->unweighted), "older name of --weight none");
  add("missing-ids", with_default(arguments->missing_ids),
      "lines whose source or target is empty, NA, nan, null, none, ? or \\N: error, drop, or keep (as a "
      "name)");
  add("undirected", po::bool_switch(&o.undirected), "add the reverse of each edge");
  add("coalesce", po::bool_switch(&o.coalesce), "merge equal edges, adding their weights");
  add("drop-self-loops", po::bool_switch(&o.drop_self_loops), "remove self-loops");
  add("features", file(files.features),
      "table of the nodes: id, features and label, in columns found by their names; types of columns are "
      "found");
  add("id", column(files.columns.id), "its column of ids (default: id, node or node_id, else the first)");
  add("label", column(files.columns.label),
      "column of labels, of --labels or else of --features (default: label or class); none: no labels");
  const auto list = [](std::string& text) { return po::value(&text)->value_name("LIST"); };
  add("columns", list(arguments->columns),
      "its columns of features, separated by commas (default: all others)");
  add("without", list(arguments->without), "its columns that are no features");
  add("types", list(arguments->types),
      "types of columns instead of those found, as in zip=category,age=number: number, boolean, category, "
      "ordinal, hash or hash:COLUMNS, text or text:COLUMNS (hashed words), date, vector");
  add("like", file(arguments->like),
      "a dataset or trained model: columns, types, categories and values for gaps as there, for a new table");
  add("features-by-row", po::bool_switch(&files.features_by_row),
      "no id: row i, from 0, belongs to the node with id i");
  add("impute", po::value(&arguments->impute)->value_name("HOW"),
      "replace missing features by the column's mean or median over the training nodes, or zero (default: an "
      "error)");
  add("labels", file(files.labels), "one line per node: id and label; missing nodes are unlabelled");
  add("labels-by-row", po::bool_switch(&files.labels_by_row),
      "no id: row i, from 0, belongs to the node with id i");
  add("task", with_default(arguments->task),
      "kind of labels: node_class (any text, sorted), node_multilabel (0 or 1 in each column), "
      "node_regression");
  add("missing-labels",
      po::value(&arguments->missing_labels)->value_name("LIST")->notifier([arguments](const auto&) {
        arguments->has_missing_labels = true;
      }),
      "classes that mean no label, separated by commas, in addition to empty ones (default: -1, and nan, "
      "NA, n/a, null, none, ? in any case)");
  add("node-headers", with_default(arguments->node_headers),
      "whether --features, --labels and splits have headers: yes or no; auto: yes if the first line names "
      "no node and looks like a header");
  add("train", file(files.train), "node ids of the training part, one per line");
  add("val", file(files.val), "the same, for validation");
  add("test", file(files.test), "the same, for the test");
  format.draws_splits = true;
  format.import = [arguments](const std::string& input) {
    NodeFiles& named = arguments->edges.node_files;
    for (std::string* path : {&named.features, &named.labels, &named.train, &named.val, &named.test})
      if (*path == "-") *path = "/dev/stdin";
    arguments->notes.clear();
    return import_edge_list(input, arguments->checked(), &arguments->notes);
  };
  format.notes = [arguments] { return arguments->notes; };
  format.files = [arguments]() -> std::vector<std::pair<std::string, std::string>> {
    const NodeFiles& named = arguments->edges.node_files;
    return {{"features", named.features},
            {"labels", named.labels},
            {"train", named.train},
            {"val", named.val},
            {"test", named.test}};
  };
  return format;
}

}  // namespace adj::apps
