#include "outputs.h"

#include <adjoint/core/file.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/reordered.h>

#include <cmath>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace adj::apps {

RunFiles::RunFiles() {
  const std::pair<int, const char*> streams[] = {{STDOUT_FILENO, "standard output"},
                                                 {STDERR_FILENO, "standard error"}};
  struct stat status {};
  for (const auto& [stream, name] : streams)
    if (fstat(stream, &status) == 0 && S_ISREG(status.st_mode))
      taken_.push_back({{status.st_dev, status.st_ino, ""}, name});
}

std::optional<RunFiles::Identity> RunFiles::identify(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return Identity{status.st_dev, status.st_ino, ""};
  const std::filesystem::path target = followed(path);
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  if (stat(folder.c_str(), &status) != 0) return {};
  return Identity{status.st_dev, status.st_ino, target.filename().string()};
}

void RunFiles::read(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  if (const auto identity = identify(path)) taken_.emplace_back(*identity, "--" + option);
}

void RunFiles::write(const std::string& option, const std::string& path, const std::string& may_be) {
  if (path.empty()) return;
  if (const auto identity = identify(path)) {
    for (const auto& [other, by] : taken_)
      if (other == *identity && by != "--" + may_be)
        throw UsageError(fmt::format("--{}: '{}' is the file of {}", option, path, by));
    taken_.emplace_back(*identity, "--" + option);
  }
  if (const std::string obstacle = obstacle_to_replacing(path); !obstacle.empty())
    data_fail("{}: --{}: {}", path, option, obstacle);
}

void write_metrics(const std::string& path, const Metric& metric, const std::vector<EpochRecord>& history) {
  optim::MetricsFile file(path,
                          {"run", "epoch", "train_loss", "val_loss", fmt::format("val_{}", metric.column)});
  for (const EpochRecord& r : history)
    file.add(
        {static_cast<double>(r.run), static_cast<double>(r.epoch), r.train_loss, r.val_loss, r.val_metric});
  file.flush();
}

namespace {

/// Rows of logits become probabilities; the largest one's place in each row.
std::vector<int32_t> softmax_rows(std::vector<float>& values, size_t columns) {
  std::vector<int32_t> best(values.size() / columns);
  for (size_t i = 0; i < best.size(); ++i) {
    float* row = values.data() + i * columns;
    const float* largest = std::max_element(row, row + columns);
    best[i] = static_cast<int32_t>(largest - row);
    const float top = *largest;
    double total = 0.0;
    for (size_t c = 0; c < columns; ++c) total += std::exp(static_cast<double>(row[c] - top));
    for (size_t c = 0; c < columns; ++c)
      row[c] = static_cast<float>(std::exp(static_cast<double>(row[c] - top)) / total);
  }
  return best;
}

}  // namespace

void write_predictions(const std::string& path, const std::string& program, const Dataset& data, Task task,
                       const Tensor& output) {
  H5Writer file(path);
  file.attribute("", "format", std::string("adjoint.prediction"));
  file.attribute("", "version", int64_t{1});
  file.attribute("", "program", program);
  file.attribute("", "dataset", data.name);
  file.attribute("", "task", std::string(name_of(task)));
  const bool of_graphs = is_of_graphs(task);
  const std::string prediction = of_graphs ? "graphs/prediction" : "nodes/prediction";
  const std::string probability = of_graphs ? "graphs/probability" : "nodes/probability";
  std::vector<float> values = (of_graphs ? output : original_rows(output, data.order)).to_vector<float>();
  const Labels labels = labels_of(task);
  if (labels == Labels::classes) {
    file.write(prediction, Tensor::from(softmax_rows(values, static_cast<size_t>(output.size(1)))));
    file.write(probability, Tensor::from(values, output.shape()));
  } else if (labels == Labels::several) {
    std::vector<uint8_t> predicted(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      predicted[i] = values[i] > 0.0f ? 1 : 0;
      values[i] = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(values[i]))));
    }
    file.write(prediction, Tensor::from(predicted, output.shape()));
    file.write(probability, Tensor::from(values, output.shape()));
  } else {
    file.write(prediction, Tensor::from(values, output.shape()));
  }
  file.commit();
}

}  // namespace adj::apps
