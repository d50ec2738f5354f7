#pragma once

#include <adjoint/models/integer_model.h>

#include <optional>
#include <string>

namespace adj::apps {

/// Options of `infer_qgnn`.
struct InferOptions {
  std::string checkpoint, data, device = "cpu", sums = "auto", compare, out, write;
  std::string batches = "device", workers = "auto";
  int64_t parts = 0, parts_per_batch = 20, batch_size = 0, repeats = 10, threads = 0;
  bool all_steps = false, planes_alone = false, no_capture = false, json = false, quiet = false;
  bool escape_formulas = false;

  IntegerModelOptions model() const;
  bool keeps_batches() const { return batches == "device"; }
};

/// Threads that prepare batches, with --batches host. Throws UsageError as num_workers() does.
int workers_of(const InferOptions& options);
/// Empty if --help or --version was printed. Throws UsageError.
std::optional<InferOptions> read_infer_options(int argc, char** argv);
/// Throws UsageError for batch options that do not apply to such a model.
void check_batches(const InferOptions& options, const ModelDescription& model);

}  // namespace adj::apps
