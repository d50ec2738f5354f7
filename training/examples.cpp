#include <adjoint/core/choice.h>
#include <adjoint/training/examples.h>

namespace adj::training {

Labels labels_of(Task task) {
  if (task == Task::node_multilabel) return Labels::several;
  return has_targets(task) ? Labels::numbers : Labels::classes;
}

std::string_view word_for_outputs(Labels labels) {
  return labels == Labels::classes ? "classes" : labels == Labels::several ? "labels" : "targets";
}

std::string usual_metric(const std::string& wanted, Task task) {
  return wanted == "auto" && task == Task::graph_class ? "accuracy" : wanted;
}

bool is_trained(Task task) {
  return task == Task::node_class || task == Task::node_multilabel || task == Task::node_regression;
}

Task task_named(const std::string& option, const std::string& name) {
  Task task = Task::none;
  Choice(&task, {kLabelledTasks.begin(), kLabelledTasks.end()}).set(option, name);
  return task;
}

int64_t outputs_of(const Dataset& data) {
  if (labels_of(data.task) == Labels::classes) return data.classes;
  return data.labels().size(1);
}

void Examples::use_split(size_t k) {
  ADJ_CHECK(k < splits.size(), "split {} of {}", k, splits.size());
  train = splits[k].train;
  val = splits[k].val;
  test = splits[k].test;
}

std::string Examples::place(size_t k, const std::string& part) const {
  if (!splits_in_file) return fmt::format("split {} drawn by the seed, {}", k, part);
  return k == 0 ? fmt::format("splits/{}", part) : fmt::format("splits/{}/{}", k, part);
}

Examples Examples::to(Device device) const {
  Examples moved = *this;
  for (Tensor* tensor : {&moved.y, &moved.train, &moved.val, &moved.test, &moved.pairs.src, &moved.pairs.dst})
    if (*tensor) *tensor = tensor->to(device);
  for (Split& split : moved.splits) split = split.to(device);
  return moved;
}

Examples node_examples(const Dataset& data, const std::string& file, const std::string& program) {
  if (!is_trained(data.task))
    data_fail("{}: attribute task: {}, {} trains node_class, node_multilabel and node_regression; {}", file,
              name_of(data.task), program,
              is_of_graphs(data.task)  ? "train_graph_gin trains this"
              : is_of_edges(data.task) ? "train_edge trains this"
                                       : "train_link needs no labels");
  if (!data.y) data_fail("{}: nodes/y: missing, {} needs labels", file, program);
  return {.task = std::string(name_of(data.task)),
          .labels = labels_of(data.task),
          .outputs = outputs_of(data),
          .y = data.y,
          .unlabelled = data.unlabelled,
          .splits = expected_splits(data, file)};
}

const std::vector<Split>& expected_splits(const Dataset& data, const std::string& file) {
  if (data.splits.empty())
    data_fail(
        "{}: splits: missing, expected one to train on (split {} --split 60,20,20 draws one; by a column or "
        "by time: split --help)",
        file, file);
  return data.splits;
}

}  // namespace adj::training
