#pragma once

#include <adjoint/models/integer_model.h>

#include <optional>
#include <string>

namespace adj::apps {

/// What `infer_qgnn` was asked for.
struct InferOptions {
  std::string checkpoint, data, device = "cpu", sums = "auto", compare, out, write;
  std::string batches = "device", workers = "auto";
  int64_t parts = 0, parts_per_batch = 20, batch_size = 0, repeats = 10, threads = 0;
  bool all_steps = false, planes_alone = false, no_capture = false, json = false, quiet = false;

  IntegerModelOptions model() const;
  bool keeps_batches() const { return batches == "device"; }
};

/// Threads that make batches, with --batches host. Throws UsageError as num_workers().
int workers_of(const InferOptions& options);
/// Empty if --help was asked for and has been printed. Throws UsageError.
std::optional<InferOptions> read_infer_options(int argc, char** argv);
/// Throws UsageError for options of batches that such a model is not computed in.
void check_batches(const InferOptions& options, const ModelDescription& model);

}  // namespace adj::apps
