#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/graph/detail/index.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace adj::detail {

void DatasetReader::read_features() {
  const bool sparse =
      file_.has("nodes/x_indptr") || file_.has("nodes/x_indices") || file_.has("nodes/x_data");
  if (sparse && file_.has("nodes/x"))
    problems_.say("nodes", "both x and x_indptr, expected one kind of features");
  if (options_.features_in_file) return leave_features(sparse);
  if (sparse) read_sparse_features();
  if (!file_.has("nodes/x")) return;
  Tensor x = values_.floats("nodes/x", {extent("nodes/x", nodes_), kAny});
  if (nodes_ && sound({"nodes", "nodes/x"})) data_.x = Features(std::move(x));
}

void DatasetReader::read_feature_names() {
  data_.feature_names =
      names_at("nodes/x_names", data_.x || data_.x_in_file ? data_.num_features() : kAny, "column");
}

void DatasetReader::read_encoder() {
  data_.encoder = encoder_at("nodes/x_encoder", data_.x || data_.x_in_file ? data_.num_features() : kAny,
                             data_.feature_names);
}

FeatureEncoder DatasetReader::encoder_at(const std::string& path, int64_t features,
                                         const std::vector<std::string>& names) {
  FeatureEncoder encoder;
  if (!file_.has(path)) return encoder;
  problems_.attempt(path, [&] {
    const Tensor bytes = file_.tensor(path, {DType::u8}, {kAny});
    const std::string_view json(reinterpret_cast<const char*>(bytes.data<uint8_t>()),
                                static_cast<size_t>(bytes.numel()));
    FeatureEncoder found = FeatureEncoder::parse(json, fmt::format("{}: {}", excerpt(file_.file()), path),
                                                 features == kAny ? kLargest : features);
    if (features != kAny)
      if (const std::string problem = problem_of_encoder(found, features, names); !problem.empty())
        file_.fail(path, "{}", problem);
    encoder = std::move(found);
  });
  return encoder;
}

// Uses a separate reader, so that no HDF5 process runs during training.
void DatasetReader::leave_features(bool sparse) {
  if (sparse)
    file_.fail("nodes/x_indptr",
               "sparse features, expected dense ones in nodes/x: only such rows can stay in the file");
  if (!file_.has("nodes/x")) return;
  file_.expect_floats("nodes/x", {extent("nodes/x", nodes_), kAny});
  data_.x_in_file = FileRows::open(file_.file(), file_.path_in_file("nodes/x"));
}

void DatasetReader::read_sparse_features() {
  std::optional<int64_t> cols;
  problems_.attempt("attribute nodes@x_cols", [&] {
    const int64_t width = file_.integer("nodes", "x_cols");
    if (width < 0 || width >= kLargest)
      file_.fail("attribute nodes@x_cols", "{}, expected 0 to {}", width, kLargest - 1);
    cols = width;
  });
  Csr csr;
  csr.indices = values_.indices("nodes/x_indices", kAny, cols.value_or(kLargest));
  const int64_t entries = csr.indices ? csr.indices.numel() : kAny;
  if (cols && csr.indices && *cols > most_sparse_columns(entries))
    problems_.say("attribute nodes@x_cols", "{} for {} entries, expected {} at most", *cols, entries,
                  most_sparse_columns(entries));
  csr.offsets = values_.offsets("nodes/x_indptr", extent("nodes/x_indptr", nodes_, 1), entries,
                                "the length of nodes/x_indices");
  Tensor values = values_.floats("nodes/x_data", {entries});
  if (!nodes_ || !cols ||
      !sound({"nodes", "attribute nodes@x_cols", "nodes/x_indices", "nodes/x_indptr", "nodes/x_data"}))
    return;
  csr.rows = *nodes_;
  csr.cols = *cols;
  sort_rows(csr, values);
  data_.x = SparseMatrix(Relation::from_csr(std::move(csr)), std::move(values));
}

bool is_labelled(const Tensor& y, int64_t i) {
  if (!is_floating(y.dtype())) return y.data<int32_t>()[i] != -1;
  const int64_t width = y.dims() == 2 ? y.size(1) : 1;
  return std::any_of(y.data<float>() + i * width, y.data<float>() + (i + 1) * width,
                     [](float value) { return !std::isnan(value); });
}

int64_t count_unlabelled(const Tensor& y) {
  int64_t count = 0;
  for (int64_t i = 0; i < y.size(0); ++i) count += !is_labelled(y, i);
  return count;
}

Tensor with_unlabelled(const Tensor& y, int64_t rows) {
  const double none = y.dtype() == DType::f32 ? std::numeric_limits<double>::quiet_NaN() : -1.0;
  return concatenated(y, Tensor::full(y.shape().with(0, rows - y.size(0)), none, y.dtype(), y.device()));
}

void DatasetReader::read_labels() {
  const std::string wanted = detail::labels_path(data_.task);
  if (data_.task != Task::none && !file_.has(wanted))
    problems_.say(wanted, "missing, expected for task {}", name_of(data_.task));
  if (file_.has("nodes/y")) data_.y = read_labels_of("nodes/y", nodes_, task_of("nodes/y"));
  if (file_.has("graphs/y") && graphs_)
    data_.graph_y = read_labels_of("graphs/y", graphs_, task_of("graphs/y"));
  if (file_.has("edges/y")) data_.edge_y = read_labels_of("edges/y", num_edges_, task_of("edges/y"));
  const Tensor& y = data_.labels();
  if (y && data_.task != Task::none) data_.unlabelled = count_unlabelled(y);
  if (sound({wanted, "attribute num_classes"})) check_classes(y);
}

/// A model has columns for all classes, and a few bytes can declare any number.
void DatasetReader::check_classes(const Tensor& y) {
  constexpr std::string_view kPlace = "attribute num_classes";
  const bool numbered = y && y.dtype() == DType::i32;
  const int64_t used = numbered ? ClassLabels(y).used : y ? y.size(1) : 0;
  if (data_.classes > most_classes(used)) {
    problems_.say(kPlace, "{}, expected {} at most, as {} have a label; for numbers use a regression task",
                  data_.classes, most_classes(used), used);
  } else if (numbered && used < data_.classes && !problems_.keeps()) {
    log_warning("{}: {}: {}, of which {} have no label", excerpt(file_.file()), kPlace, data_.classes,
                data_.classes - used);
  }
}

Tensor DatasetReader::read_labels_of(const std::string& path, std::optional<int64_t> rows, Task task) {
  const int64_t length = extent(path, rows);
  if (has_classes(task))
    return values_.indices(path, length, sound({"attribute num_classes"}) ? data_.classes : kLargest, -1);
  const std::string rows_text = length == kAny ? "*" : std::to_string(length);
  Tensor y;
  problems_.attempt(path, [&] {
    const std::vector<int64_t>& shape = file_.shape(path);
    if (shape.empty() || shape.size() > 2 || (length != kAny && shape[0] != length))
      file_.fail(path, "shape [{}], expected [{}] or [{}, *]", fmt::join(shape, ", "), rows_text, rows_text);
    if (task == Task::none && shape.size() == 1 && !is_floating(file_.dtype(path))) {
      y = values_.indices(path, length, kLargest, std::numeric_limits<int32_t>::min());
    } else {
      y = values_.targets(path, task == Task::node_multilabel);
    }
  });
  return y;
}

std::vector<std::string> DatasetReader::names_at(const std::string& path, int64_t count,
                                                 std::string_view thing) {
  const std::string ends = path + "_offsets";
  if (!file_.has(path)) return {};
  PackedNames names;
  problems_.attempt(path, [&] { names.bytes = file_.tensor(path, {DType::u8}, {kAny}); });
  names.offsets = values_.offsets(ends, count == kAny ? kAny : count + 1,
                                  names.bytes ? names.bytes.numel() : kAny, "the length of " + path);
  if (!names.bytes || !names.offsets || !sound({path, ends})) return {};
  std::vector<std::string> texts = unpacked(names);
  const std::string problem = problem_of_names(texts, thing);
  if (problem.empty()) return texts;
  problems_.say(path, "{}", problem);
  return {};
}

void DatasetReader::read_class_names() {
  const bool known = sound({"attribute num_classes", "nodes/y", "graphs/y", "edges/y"});
  data_.class_names =
      names_at(class_names_path(data_.task), known ? expected_class_names(data_) : kAny, "class");
}

/// Reads node names, partition and original order.
void DatasetReader::read_nodes() {
  if (file_.has("nodes/id")) data_.node_ids = values_.integers("nodes/id", extent("nodes/id", nodes_));
  read_names();
  read_times();
  if (file_.has("nodes/part"))
    data_.part = values_.indices("nodes/part", extent("nodes/part", nodes_), nodes_.value_or(kLargest));
  if (file_.has("nodes/order")) {
    data_.order = values_.indices("nodes/order", extent("nodes/order", nodes_), nodes_.value_or(kLargest));
    if (data_.order && nodes_ && sound({"nodes/order"})) check_order(data_.order);
  }
}

void DatasetReader::read_times() {
  if (file_.has("nodes/time")) data_.times = values_.integers("nodes/time", extent("nodes/time", nodes_));
}

void DatasetReader::read_names() {
  if (!file_.has("nodes/name")) return;
  problems_.attempt("nodes/name",
                    [&] { data_.node_names = file_.tensor("nodes/name", {DType::u8}, {kAny}); });
  data_.node_name_offsets =
      values_.offsets("nodes/name_offsets", extent("nodes/name_offsets", nodes_, 1),
                      data_.node_names ? data_.node_names.numel() : kAny, "the length of nodes/name");
}

/// Throws unless it is a permutation within each graph.
void DatasetReader::check_order(const Tensor& order) {
  const int32_t* first = order.data<int32_t>();
  std::vector<bool> seen(static_cast<size_t>(*nodes_), false);
  WrongValues repeated(problems_, "nodes/order"), elsewhere(problems_, "nodes/order");
  for (int64_t i = 0; i < *nodes_; ++i) {
    if (seen[static_cast<size_t>(first[i])])
      repeated.found(i, [&] {
        return fmt::format("node {} at position {} occurs twice, expected each node once", first[i], i);
      });
    seen[static_cast<size_t>(first[i])] = true;
  }
  repeated.say();
  if (!data_.graph_offsets || !sound({"graphs/offsets"})) return;
  const std::vector<int64_t> offsets = data_.graph_offsets.to_vector<int64_t>();
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    for (int64_t i = offsets[g]; i < offsets[g + 1]; ++i)
      if (first[i] < offsets[g] || first[i] >= offsets[g + 1])
        elsewhere.found(i, [&] {
          return fmt::format("node {} at position {}, expected {} to {}, the nodes of graph {}", first[i], i,
                             offsets[g], offsets[g + 1] - 1, g);
        });
  elsewhere.say();
}

namespace {

constexpr std::string_view kParts[] = {"", "train", "val", "test"};

std::string path_of(const std::string& group, size_t part) {
  return fmt::format("{}/{}", group, kParts[part]);
}

}  // namespace

/// splits/1, splits/2, … follow splits/train.
void DatasetReader::read_splits() {
  const auto any_in = [&](const std::string& group) {
    return file_.has(group + "/train") || file_.has(group + "/val") || file_.has(group + "/test");
  };
  size_t count = any_in("splits") ? 1 : 0;
  for (const std::string& name : file_.children("splits")) {
    const bool number =
        name.size() < 7 && name[0] != '0' && name.find_first_not_of("0123456789") == std::string::npos;
    if (number && any_in("splits/" + name)) count = std::max(count, std::stoul(name) + 1);
  }
  size_t absent = 0;
  bool all_sound = members().has_value();
  for (size_t k = 0; k < count; ++k) {
    const std::string group = k == 0 ? "splits" : fmt::format("splits/{}", k);
    if (any_in(group) || ++absent <= Problems::kShown) data_.splits.push_back(read_split(group));
    for (size_t part : {1, 2, 3}) all_sound = all_sound && sound({path_of(group, part)});
  }
  if (absent > Problems::kShown)
    problems_.say("splits", "{} of the split numbers below {} are missing, expected consecutive numbers",
                  absent, count);
  if (!all_sound) data_.splits.clear();
  data_.use_first_split();
}

Split DatasetReader::read_split(const std::string& group) {
  std::vector<uint8_t> part_of(static_cast<size_t>(members().value_or(0)), 0);
  Split split;
  split.train = read_part(group, 1, part_of);
  split.val = read_part(group, 2, part_of);
  split.test = read_part(group, 3, part_of);
  return split;
}

Tensor DatasetReader::read_part(const std::string& group, size_t part, std::vector<uint8_t>& part_of) {
  const std::string path = path_of(group, part);
  const std::optional<int64_t> limit = members();
  const Tensor index = values_.selection(path, limit.value_or(kAny), limit.value_or(kLargest));
  if (!index) return {};
  const bool may_be_empty = edges_ && data_.task == Task::none;  // links of several types are split together
  if (index.numel() == 0 && !may_be_empty) problems_.say(path, "empty, expected at least one index");
  if (!limit) return index;
  const Tensor& y = data_.labels();
  const bool labels = data_.unlabelled > 0 && y.size(0) == *limit;
  const int32_t* values = index.data<int32_t>();
  WrongValues repeated(problems_, path), unlabelled(problems_, path);
  for (int64_t k = 0; k < index.numel(); ++k) {
    const int32_t i = values[k];
    if (i < 0 || i >= *limit) continue;  // already reported
    uint8_t& seen = part_of[static_cast<size_t>(i)];
    if (seen != 0)
      repeated.found(k, [&] {
        return fmt::format("index {} at position {} is already in {}, expected once in a split", i, k,
                           kParts[seen]);
      });
    seen = static_cast<uint8_t>(part);
    if (labels && !is_labelled(y, i))
      unlabelled.found(k, [&] { return fmt::format("index {} at position {} has no label", i, k); });
  }
  repeated.say();
  unlabelled.say();
  return index;
}

}  // namespace adj::detail
