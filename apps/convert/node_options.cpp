#include "node_options.h"

#include <adjoint/adjoint.h>
#include <adjoint/data/import/node_files.h>

namespace adj::apps {

namespace {

ModelDescription description_in(const std::string& path) {
  return is_integer_model(path) ? IntegerModel::load(path).description()
                                : detail::description_of(models::load_checkpoint(path));
}

bool is_dataset(const std::string& path) {
  const H5Reader file = H5Reader::open(path, {"@format"});
  return file.has_attribute("", "format") && file.text("", "format") == "adjoint.graph";
}

}  // namespace

LikeFile read_like_file(const std::string& path) {
  if (is_dataset(path)) return {path, load_feature_encoder(path)};
  const ModelDescription model = description_in(path);
  if (!model.encoder.empty()) return {path, model.encoder};
  if (model.feature_names.empty())
    data_fail("{}: a model without names of columns, expected one that was trained on named ones",
              excerpt(path));
  return {path, FeatureEncoder::numbers(model.feature_names)};
}

std::optional<LikeFile> read_like_attributes(const std::string& path) {
  const auto found = [&](FeatureEncoder encoder, const std::vector<std::string>& names) {
    if (encoder.empty()) encoder = FeatureEncoder::numbers(names);
    return encoder.empty() ? std::nullopt : std::optional(LikeFile{path, std::move(encoder)});
  };
  if (is_dataset(path)) {
    const Dataset data = load_dataset(path);
    return found(data.attr_encoder, data.attr_names);
  }
  const ModelDescription model = description_in(path);
  return found(model.attr_encoder, model.attr_names);
}

namespace {

/// "zip=hash:64".
ColumnChoice chosen_type(const std::string& item) {
  try {
    return column_choice(item, "--types");
  } catch (const DataError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  for (FieldCursor cursor(list, Separator::comma); cursor.next();) items.emplace_back(cursor.field());
  return items;
}

NodeFiles NodeOptions::files(bool named, std::optional<Task> edges) const {
  NodeFiles files = files_;
  for (std::string* path : {&files.features, &files.labels, &files.train, &files.val, &files.test})
    if (*path == "-") *path = "/dev/stdin";
  if (edges &&
      (!files.labels.empty() || !files.train.empty() ||
       (!files.columns.label.empty() && files.columns.label != "none") || files.task != Task::node_class))
    usage_fail(
        "--edge-label: conflicts with --labels, --label COLUMN, --task, --train, --val and --test, as a "
        "dataset has labels of edges or of nodes");
  if (edges && !files.features.empty()) files.columns.label = "none";
  const bool labelled = edges || !files.labels.empty() || !files.features.empty();  // or a column of it
  if (files.task != Task::node_class && !labelled) usage_fail("--task: requires --labels or --features");
  if (missing_labels_ && !labelled)
    usage_fail("--missing-labels: requires --labels, --features or --edge-label");
  set_columns(files);
  if (files.headers != Header::find_out && !labelled && files.train.empty())
    usage_fail("--node-headers: requires --features, --labels or --train");
  if (named && (files.features_by_row || files.labels_by_row))
    usage_fail("--features-by-row, --labels-by-row: require integer ids");
  if (missing_labels_) {
    if (files.task != Task::node_class) usage_fail("--missing-labels: requires --task node_class");
    if (edges == Task::edge_regression) usage_fail("--missing-labels: requires --edge-task edge_class");
    files.missing_labels = items_of(*missing_labels_);
  }
  for (Imputation known : {Imputation::mean, Imputation::median, Imputation::zero})
    if (impute_ == name_of(known)) files.impute = known;
  if (!impute_.empty() && !files.impute) usage_fail("--impute {}: expected mean, median or zero", impute_);
  if (files.impute && files.features.empty()) usage_fail("--impute: requires --features");
  if (files.train.empty() != files.val.empty() || files.val.empty() != files.test.empty())
    usage_fail("--train, --val, --test: expected all three or none");
  files.split = splits_->random();
  if (files.split && !files.train.empty()) usage_fail("--split: conflicts with --train, --val and --test");
  if (splits_->stratified && (!labelled || files.task != Task::node_class || edges == Task::edge_regression))
    usage_fail("--stratified: requires labels and --task node_class or --edge-task edge_class");
  return files;
}

void NodeOptions::set_columns(NodeFiles& files) const {
  const auto listed = [](const std::string& list) {
    return list.empty() ? std::vector<std::string>() : items_of(list);
  };
  files.columns.features = listed(columns_);
  files.columns.without = listed(without_);
  for (const std::string& item : listed(types_)) files.types.push_back(chosen_type(item));
  const NodeColumnNames& c = files.columns;
  if (!like_.empty()) {
    if (files.features.empty()) usage_fail("--like: requires --features");
    if (!c.features.empty() || !c.without.empty() || !types_.empty() || !impute_.empty())
      usage_fail("--like: conflicts with --columns, --without, --types and --impute, which its file decides");
    files.like = read_like_file(like_);
  }
  const bool any = !c.id.empty() || !c.features.empty() || !c.without.empty() || !files.types.empty();
  if (any && files.features.empty()) usage_fail("--id, --columns, --without, --types: require --features");
  if (!c.label.empty() && files.features.empty() && files.labels.empty())
    usage_fail("--label: requires --features or --labels");
  if (!c.features.empty() && !c.without.empty()) usage_fail("--columns: conflicts with --without");
  if (!c.id.empty() && files.features_by_row) usage_fail("--id: conflicts with --features-by-row");
}

OptionList NodeOptions::list() {
  return {
      {"features", &files_.features, "FILE",
       "table of the nodes: id, features and label, in columns found by their names; types of columns are "
       "found"},
      {"id", &files_.columns.id, "COLUMN",
       "its column of ids (default: node_id, id or node, else user_id, name and the like, else the first)"},
      {"label", &files_.columns.label, "COLUMN",
       "column of labels, of --labels or else of --features (default: label or class); none: no labels"},
      {"columns", &columns_, "LIST", "its columns of features, separated by commas (default: all others)"},
      {"without", &without_, "LIST", "its columns that are neither features nor labels"},
      {"types", &types_, "LIST",
       "types of columns instead of those found, as in zip=category,age=number: number, boolean, category, "
       "ordinal, hash or hash:COLUMNS, text or text:COLUMNS (hashed words), date, vector, set (items in a "
       "field as 3,17,240 or a|b; a column of 0 and 1 for each) or set:COLUMNS (hashed)"},
      {"like", &like_, "FILE",
       "a dataset or trained model: columns, types, categories and values for gaps as there, for a new "
       "table"},
      {"features-by-row", &files_.features_by_row, "", "no id: row i, from 0, belongs to the node with id i"},
      {"impute", &impute_, "HOW",
       "replace missing features by the column's mean or median over the training nodes, or zero (default: "
       "an error)"},
      {"labels", &files_.labels, "FILE", "one line per node: id and label; missing nodes are unlabelled"},
      {"labels-by-row", &files_.labels_by_row, "", "no id: row i, from 0, belongs to the node with id i"},
      {"task", Choice(&files_.task, {Task::node_class, Task::node_multilabel, Task::node_regression}), "NAME",
       "kind of labels: node_class (any text, sorted), node_multilabel (0 or 1 in each column), "
       "node_regression"},
      {"missing-labels", &missing_labels_, "LIST",
       "classes that mean no label, separated by commas, in addition to empty ones, -1 "
       "(of nodes), and nan, NA, n/a, null, none, ? in any case, NaT, <NA>, #N/A; \"\": "
       "only empty ones, \",NA\": only these and NA"},
      {"node-headers", &files_.headers, "NAME",
       "whether --features, --labels and splits have headers: yes or no, or comment: the one above the first "
       "line; auto: yes if "
       "the first line names no node and looks like a header"},
      {"train", &files_.train, "FILE", "node ids of the training part, one per line"},
      {"val", &files_.val, "FILE", "the same, for validation"},
      {"test", &files_.test, "FILE", "the same, for the test"}};
}

std::vector<std::pair<std::string, std::string>> NodeOptions::paths() const {
  return {{"features", files_.features},
          {"labels", files_.labels},
          {"train", files_.train},
          {"val", files_.val},
          {"test", files_.test}};
}

}  // namespace adj::apps
