#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace adj::detail {

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

}  // namespace adj::detail
