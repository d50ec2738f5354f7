#include "options.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

#include <limits>

namespace adj::apps {

namespace {

constexpr const char* kUsage = "infer_qgnn MODEL.h5 DATA.h5 [OPTION]... | infer_qgnn MODEL.h5 --write FILE";
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

void check(const InferOptions& o) {
  if (o.checkpoint.empty() || (o.data.empty() && o.write.empty())) usage_fail("expected {}", kUsage);
  RunFiles files;
  files.read("data", o.data);
  files.read("checkpoint", o.checkpoint);
  files.write("out", o.out);
  files.write("write", o.write);
  if (!o.out.empty()) expect_predictions_path("out", o.out);
  (void)workers_of(o);
  if (o.keeps_batches() && o.workers != InferOptions().workers)
    usage_fail("--workers: requires --batches host");
  if (o.sums == IntegerSums::bytes && (o.all_steps || o.planes_alone))
    usage_fail("--{}: requires --sums bits or auto", o.all_steps ? "all-steps" : "planes-alone");
}

}  // namespace

int workers_of(const InferOptions& o) {
  return training::BatchOptions{.workers = o.workers}.num_workers(o.device);
}

std::optional<InferOptions> read_infer_options(int argc, char** argv) {
  InferOptions o;
  const OptionList options{
      {"checkpoint", &o.checkpoint, "FILE",
       "checkpoint of train_qgnn or train_graph_qgin, 1 to 8 bits in every layer; or a file written by "
       "--write"},
      {"data", &o.data, "FILE", "dataset of nodes or graphs"},
      {"device", &o.device, "NAME", "cpu, cuda, cuda:1, …"},
      {"parts", &o.parts, "K",
       "for a model of nodes: number of METIS clusters (0: the dataset's nodes/part, or the graph as one "
       "batch)",
       true, IntegerRange{0, kMost}},
      {"parts-per-batch", &o.parts_per_batch, "N", "maximum clusters per batch", true,
       IntegerRange{1, kMost}},
      {"batch-size", &o.batch_size, "N", "for a model of graphs: graphs per batch (0: as in the training)",
       true, IntegerRange{0, kMost}},
      {"batches", &o.batches, "WHERE",
       "device (packed once and kept there) or host (built by --workers in every pass and transferred while "
       "the device computes: for graphs that do not fit there)"},
      training::workers_option(o.workers),
      {"sums", &o.sums, "METHOD",
       "sums over neighbours by bits (product with the adjacency), bytes (gathers) or auto (by counts); "
       "results are identical"},
      {"all-steps", &o.all_steps, "", "do not skip empty tiles of the adjacency"},
      {"planes-alone", &o.planes_alone, "", "read the adjacency again for each bit plane"},
      {"compare", Choice(&o.compare, {Comparison::float32}), "METHOD",
       "float32: also run the trained model over the same batches"},
      {"out", &o.out, "FILE",
       "write the predictions for every node or graph: FILE.csv, FILE.jsonl or FILE.h5"},
      training::escape_formulas_option(o.escape_formulas),
      {"write", &o.write, "FILE",
       "write the model with packed weights; usable as --checkpoint, with identical results"},
      {"repeats", &o.repeats, "N", "passes over all batches; the median time is reported", true,
       IntegerRange{1, kMost}},
      threads_option(o.threads),
      {"no-capture", &o.no_capture, "",
       "on a GPU, launch each kernel instead of a CUDA graph (implied by --batches host)"},
      {"json", &o.json, "", "print the result as one line of JSON"},
      {"quiet", &o.quiet, "", "print only the result"}};
  if (!read_options(argc, argv, table_of(options), {"checkpoint", "data"}, kUsage,
                    "Runs a quantised model in integer arithmetic over all batches of a dataset."))
    return {};
  check(o);
  return o;
}

void check_batches(const InferOptions& o, const ModelDescription& model) {
  const bool clusters = o.parts > 0 || o.parts_per_batch != InferOptions().parts_per_batch;
  if (model.of_graphs() && clusters)
    usage_fail("--{}: {} is a model of graphs, expected --batch-size",
               o.parts > 0 ? "parts" : "parts-per-batch", model.name);
  if (!model.of_graphs() && o.batch_size > 0)
    usage_fail("--batch-size: {} is a model of nodes, expected --parts", model.name);
}

}  // namespace adj::apps
