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

namespace {

std::string temporary_beside(const std::string& path) { return fmt::format("{}.{}.tmp", path, getpid()); }

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

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
  const std::string probe = temporary_beside(target);
  const int descriptor = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) data_fail("{}: --{}: {}", path, option, std::strerror(errno));
  close(descriptor);
  unlink(probe.c_str());
  return target;
}

OutputFile::OutputFile(const std::string& path)
    : path_(path), temporary_(temporary_beside(path)), file_(std::fopen(temporary_.c_str(), "we")) {
  if (file_ == nullptr) fail();
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(temporary_.c_str());
}

void OutputFile::fail() const { data_fail("{}: {}", path_, std::strerror(errno)); }

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  std::fclose(std::exchange(file_, nullptr));
  if (const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

bool MetricsFile::knows(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".jsonl");
}

MetricsFile::MetricsFile(const std::string& path) : file_(path), json_(path.ends_with(".jsonl")) {
  if (!json_) file_.write("run,epoch,train_loss,val_loss,val_acc\n");
}

void MetricsFile::write(const EpochRecord& r) {
  if (json_) {
    file_.write(fmt::format(R"({{"run": {}, "epoch": {}, "train_loss": {}, "val_loss": {}, "val_acc": {}}})"
                            "\n",
                            r.run, r.epoch, r.train_loss, r.val_loss, r.val_acc));
  } else {
    file_.write(fmt::format("{},{},{},{},{}\n", r.run, r.epoch, r.train_loss, r.val_loss, r.val_acc));
  }
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
