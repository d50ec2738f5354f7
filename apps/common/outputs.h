#pragma once

#include <adjoint/adjoint.h>

#include <string>
#include <string_view>
#include <vector>

namespace adj::apps {

/// What the training said at one epoch, counted from 1.
struct EpochRecord {
  int64_t run, epoch;
  double train_loss, val_loss, val_acc;
};

/// Where a path leads once symbolic links are followed. Throws DataError unless a file can be made or
/// replaced there.
std::string writable_path(const std::string& option, const std::string& path);

/// Rows run, epoch, train_loss, val_loss, val_acc: CSV with a header or JSON lines, by the path's suffix.
void write_metrics(const std::string& path, const std::vector<EpochRecord>& history);

/// HDF5: nodes/prediction int32 [N], nodes/probability float32 [N, C], from logits [N, C].
void write_predictions(const std::string& path, const std::string& program, const std::string& dataset,
                       const Tensor& logits);

/// Finds gnuplot; throws Error with what to install otherwise.
void require_gnuplot();
/// SVG of losses and validation accuracy over the epochs, one curve a run.
void write_plot(const std::string& path, const std::string& title, const std::vector<EpochRecord>& history);

/// `text` as a JSON string, quotes included.
std::string json_text(std::string_view text);

}  // namespace adj::apps
