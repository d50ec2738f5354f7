#include "outputs.h"

#include <adjoint/data/hdf5_file.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace adj::apps {

namespace fs = std::filesystem;

std::string writable_path(const std::string& option, const std::string& path) {
  std::error_code error;
  std::string target = path;
  if (fs::is_symlink(path, error)) target = fs::weakly_canonical(path, error).string();
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    data_fail("{}: --{}: not a regular file", path, option);
  if (fs::exists(status) && access(target.c_str(), W_OK) != 0)
    data_fail("{}: --{}: {}", path, option, std::strerror(errno));
  // Trying is the only sure way to know about permissions, quotas and read-only file systems.
  const std::string probe = fmt::format("{}.{}.tmp", target, getpid());
  const int descriptor = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) data_fail("{}: --{}: {}", path, option, std::strerror(errno));
  close(descriptor);
  unlink(probe.c_str());
  return target;
}

void write_metrics(const std::string& path, const std::vector<EpochRecord>& history) {
  optim::MetricsFile file(path, {"run", "epoch", "train_loss", "val_loss", "val_acc"});
  for (const EpochRecord& r : history)
    file.add({static_cast<double>(r.run), static_cast<double>(r.epoch), r.train_loss, r.val_loss, r.val_acc});
  file.flush();
}

void write_predictions(const std::string& path, const std::string& program, const std::string& dataset,
                       const Tensor& logits) {
  const auto rows = static_cast<size_t>(logits.size(0)), columns = static_cast<size_t>(logits.size(1));
  std::vector<float> values = logits.to_vector<float>();
  std::vector<int32_t> best(rows);
  for (size_t i = 0; i < rows; ++i) {
    float* row = values.data() + i * columns;
    const float* largest = std::max_element(row, row + columns);
    best[i] = static_cast<int32_t>(largest - row);
    const float top = *largest;
    double total = 0.0;
    for (size_t c = 0; c < columns; ++c) total += std::exp(static_cast<double>(row[c] - top));
    for (size_t c = 0; c < columns; ++c)
      row[c] = static_cast<float>(std::exp(static_cast<double>(row[c] - top)) / total);
  }
  H5Writer file(path);
  file.attribute("", "format", std::string("adjoint.prediction"));
  file.attribute("", "version", int64_t{1});
  file.attribute("", "program", program);
  file.attribute("", "dataset", dataset);
  file.write("nodes/prediction", Tensor::from(best));
  file.write("nodes/probability", Tensor::from(values, logits.shape()));
  file.commit();
}

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace adj::apps
