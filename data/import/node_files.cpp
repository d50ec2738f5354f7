#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/node_rows.h>
#include <adjoint/data/import/node_files.h>

#include <algorithm>

namespace adj {

namespace {

Tensor read_part(NodeRows& rows, const Tensor& y, std::vector<uint8_t>& seen,
                 std::vector<std::string>& notes) {
  std::vector<int32_t> part;
  RecordReader reader(rows.source(), rows.head().format);
  while (reader.next()) {
    const int64_t line = reader.number();
    if (rows.is_header(line)) continue;
    const std::string id = id_in_split(rows, line, reader.record());
    const int32_t node = rows.node_of(id, line);
    if (seen[static_cast<size_t>(node)]++ != 0)
      rows.source().fail(line, "\"{}\" occurs twice, expected once in a split", excerpt(id));
    if (y && !detail::is_labelled(y, node))
      rows.source().fail(line, "\"{}\", a node without a label", excerpt(id));
    part.push_back(node);
  }
  if (part.empty()) rows.source().fail(0, "no ids, expected some");
  notes.push_back(rows.note(reader.comments()));
  return Tensor::from(part);
}

Tensor chosen(const std::vector<int32_t>& candidates, const Tensor& places) {
  std::vector<int32_t> nodes;
  for (int32_t k : places.to_vector<int32_t>()) nodes.push_back(candidates[static_cast<size_t>(k)]);
  return Tensor::from(nodes);
}

Split drawn(const DrawnSplit& wanted, const std::string& file, const Dataset& data,
            std::vector<std::string>& notes) {
  std::vector<int32_t> labelled;
  for (int32_t i = 0; i < data.num_nodes(); ++i)
    if (!data.y || detail::is_labelled(data.y, i)) labelled.push_back(i);
  Generator generator(wanted.seed);
  Split split;
  if (wanted.stratified) {
    NodeSplit parts = stratified_node_split(data.y, wanted.fractions, generator);
    split = {parts.train, parts.val, parts.test};
  } else {
    const NodeSplit parts = random_node_split(std::ssize(labelled), wanted.fractions, generator);
    split = {chosen(labelled, parts.train), chosen(labelled, parts.val), chosen(labelled, parts.test)};
  }
  const int64_t train = split.train.numel(), val = split.val.numel(), test = split.test.numel();
  const std::string counts = fmt::format("{} nodes to train, {} to validate, {} to test", train, val, test);
  if (train == 0 || val == 0 || test == 0)
    data_fail("{}: a split of {} nodes{} into {}, expected some in each part", excerpt(file), labelled.size(),
              data.y ? " with a label" : "", counts);
  notes.push_back(
      fmt::format("split by seed {}{}: {}", wanted.seed, wanted.stratified ? ", stratified" : "", counts));
  return split;
}

/// Notes about features that have the name of a label: a model would see the answer.
void note_labels_within(const NodeFiles& files, const std::vector<std::string>& labels, const Dataset& data,
                        std::vector<std::string>& notes) {
  for (const std::string& name : data.feature_names) {
    const std::string word = lower(name);
    if (word == "label" || word == "class" || std::find(labels.begin(), labels.end(), name) != labels.end())
      notes.push_back(fmt::format("{}: column \"{}\" is a feature; if it is the label, models see the answer",
                                  excerpt(files.features), excerpt(name)));
  }
}

}  // namespace

void read_node_files(const NodeFiles& files, const std::optional<std::string>& comment, const NodeIds& ids,
                     Dataset& data, Progress* reading, std::vector<std::string>& notes) {
  const auto opened = [&](const std::string& path, bool by_row, bool blank_rows) {
    return NodeRows(path, by_row, blank_rows, files.headers, comment, ids, reading);
  };
  if (!files.features.empty()) {
    NodeRows rows = opened(files.features, files.features_by_row, false);
    auto [x, note] = read_numbers(rows, ids.size(), files.impute.has_value(), true, false);
    if (files.impute) note += "; " + impute(x, *files.impute, rows);
    data.x = Features(x);
    if (rows.has_header()) {
      data.feature_names.assign(rows.head().first.end() - x.size(1), rows.head().first.end());
      for (const std::string& name : data.feature_names)
        rows.source().expect_utf8(rows.head().format.first_line, name);
      if (const std::string problem = detail::problem_of_names(data.feature_names, "column");
          !problem.empty()) {
        note += "; names not kept: " + problem;
        data.feature_names.clear();
      }
    }
    notes.push_back(note);
  }
  if (!files.labels.empty()) {
    data.task = files.task;
    const bool classes = files.task == Task::node_class;
    NodeRows rows = opened(files.labels, files.labels_by_row, classes && files.labels_by_row);
    if (rows.has_header())
      note_labels_within(files, {rows.head().first.end() - rows.columns(), rows.head().first.end()}, data,
                         notes);
    if (classes) {
      notes.push_back(read_classes(rows, files, data));
    } else {
      auto [y, note] = read_numbers(rows, ids.size(), true, false, files.task == Task::node_multilabel);
      data.y = y;
      data.unlabelled = detail::count_unlabelled(y);
      if (rows.has_header())
        data.class_names.assign(rows.head().first.end() - y.size(1), rows.head().first.end());
      for (const std::string& name : data.class_names)
        rows.source().expect_utf8(rows.head().format.first_line, name);
      notes.push_back(note);
      if (const std::string problem = detail::problem_of_names(data.class_names); !problem.empty()) {
        notes.back() += "; names not kept: " + problem;
        data.class_names.clear();
      }
    }
  }
  if (files.split) {
    data.splits.push_back(drawn(*files.split, files.labels.empty() ? "split" : files.labels, data, notes));
  } else if (!files.train.empty()) {
    std::vector<uint8_t> seen(static_cast<size_t>(data.num_nodes()));
    const auto part = [&](const std::string& path) {
      NodeRows rows = opened(path, false, false);
      return read_part(rows, data.y, seen, notes);
    };
    Split split;
    split.train = part(files.train);
    split.val = part(files.val);
    split.test = part(files.test);
    data.splits.push_back(std::move(split));
  }
  data.use_first_split();
}

}  // namespace adj
