#pragma once

#include <adjoint/models/integer_model.h>

#include <optional>
#include <string>

namespace adj::apps {

/// Where batches are kept: packed on the device, or built on the host in every pass.
enum class BatchPlace : uint8_t { device, host };
constexpr auto names_of(BatchPlace) { return std::array{"device", "host"}; }

/// What also runs over the batches: the trained model.
enum class Comparison : uint8_t { none, float32 };
constexpr auto names_of(Comparison) { return std::array{"none", "float32"}; }

/// Options of `infer_qgnn`.
struct InferOptions {
  std::string checkpoint, data, device = "cpu", out, write, workers = "auto";
  IntegerSums sums = IntegerSums::automatic;
  BatchPlace batches = BatchPlace::device;
  Comparison compare = Comparison::none;
  int64_t parts = 0, parts_per_batch = 20, batch_size = 0, repeats = 10, threads = 0;
  bool all_steps = false, planes_alone = false, no_capture = false, json = false, quiet = false;
  bool escape_formulas = false;

  IntegerModelOptions model() const {
    return {.sums = sums, .skip_steps = !all_steps, .share_steps = !planes_alone};
  }
  bool keeps_batches() const { return batches == BatchPlace::device; }
};

/// Threads that prepare batches, with --batches host. Throws UsageError as num_workers() does.
int workers_of(const InferOptions& options);
/// Empty if --help or --version was printed. Throws UsageError.
std::optional<InferOptions> read_infer_options(int argc, char** argv);
/// Throws UsageError for batch options that do not apply to such a model.
void check_batches(const InferOptions& options, const ModelDescription& model);

}  // namespace adj::apps
