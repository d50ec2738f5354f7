#include <adjoint/core/error.h>
#include <adjoint/core/explain.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/data/predictions.h>
#include <adjoint/graph/ranks/row_cut.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/options.h>
#include <adjoint/training/settings.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

int64_t integer_of(const std::string& option, const std::string& text, const char* expected) {
  const auto number = number_in<int64_t>(text);
  if (!number) usage_fail("--{}: expected {}, got '{}'", option, expected, text);
  return *number;
}

/// Throws, naming `option`, if tensor-core tiles cannot be used.
void expect_tiles(const std::string& option, const Options& o) {
  if (!o.compute.device.starts_with("cuda")) usage_fail("{}: tensor cores require --device cuda", option);
  if (o.compute.precision == models::Precision::float32)
    usage_fail("{}: tensor cores round their operands, requires --precision tf32 or bfloat16", option);
  if (o.model.attention_dropout > 0.0)
    usage_fail("{}: attention on tensor cores has no dropout, requires --attention-dropout 0", option);
}

}  // namespace

std::optional<int64_t> split_number(const std::string& split) {
  if (split == "all") return {};
  if (split.find(',') != std::string::npos)
    usage_fail(
        "--split {}: expected the number of a split in the file, or all; `split FILE.h5 --split {}` gives it "
        "a random one",
        split, split);
  const int64_t number = integer_of("split", split, "a number or all");
  expect_integer("split", number, 0, kMostCounted);
  return number;
}

void DataOptions::check() const {
  (void)split_number(split);
  if (aggregation != AggregationMethod::automatic && !inductive)
    usage_fail("--aggregation {}: requires --inductive, edges of a constant graph are sorted once",
               name_of(aggregation));
  if (features_bits != 32 && (features_bits < 1 || features_bits > 8))
    usage_fail("--features-bits: expected 1 to 8, or 32 (unchanged), got {}", features_bits);
}

void ExecutionOptions::apply() const {
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  if (explain) set_explaining(true);
  ComputeContext& context = compute_context();
  if (precision == models::Precision::tf32) context.matmul_precision = MatmulPrecision::tf32;
  context.sparse_kernels = kernels;
}

std::vector<Device> ExecutionOptions::listed_devices() const {
  std::vector<Device> listed;
  if (devices == "all") {
    for (int index = 0; index < cuda_device_count(); ++index) listed.push_back(Device::cuda(index));
    if (listed.empty()) usage_fail("--devices all: there is no GPU; expected a list as cpu,cpu");
    return listed;
  }
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    try {
      listed.push_back(Device::parse(name));
    } catch (const Error& error) {
      usage_fail("--devices {}: {}; expected all, or a list as cuda:0,cuda:1", devices, error.what());
    }
  }
  return listed;
}

std::vector<Device> ExecutionOptions::rank_devices() const {
  if (devices.empty()) return {};
  const std::vector<Device> listed = listed_devices();
  const int64_t parts = ranks == 0 ? std::ssize(listed) : ranks;
  if (parts < std::ssize(listed))
    usage_fail("--ranks {}: expected at least one for each of {} devices", ranks, listed.size());
  if (parts > RowCut::kParts)
    usage_fail("--devices {}: {} devices, expected at most {}", devices, parts, RowCut::kParts);
  std::vector<Device> of_ranks;
  for (int64_t rank = 0; rank < parts; ++rank)
    of_ranks.push_back(listed[static_cast<size_t>(rank * std::ssize(listed) / parts)]);
  return of_ranks;
}

bool ExecutionOptions::over_ranks() const { return launch().ranks > 1 || !devices.empty(); }

Device ExecutionOptions::process_device() const {
  const auto place = static_cast<size_t>(launch().local_rank);
  if (devices.empty() && device == "cuda")
    return Device::cuda(static_cast<int>(place) % std::max(1, cuda_device_count()));
  if (devices.empty()) return Device::parse(device);
  const std::vector<Device> listed = listed_devices();
  return listed[place % listed.size()];
}

int64_t ExecutionOptions::host_devices() const {
  return !devices.empty() ? std::ssize(listed_devices()) : device == "cuda" ? cuda_device_count() : 1;
}

void ExecutionOptions::check_ranks(const Options& all) const {
  const int64_t processes = launch().ranks;
  if (all.batches.features == FeaturePlace::split && (processes > 1 || devices.empty()))
    usage_fail(
        "--features split: requires --devices in one process, as cuda:0,cuda:1, over whose memories the rows "
        "are split; expected device, host or file");
  const auto refuse = [processes](bool conflict, std::string_view option, std::string_view reason) {
    if (conflict && processes > 1)
      usage_fail("{} processes: conflict with {}, {}", processes, option, reason);
    if (conflict) usage_fail("--devices: conflicts with {}, {}", option, reason);
  };
  if (processes > 1) {
    if (!over_devices) usage_fail("{} processes were started together, expected one", processes);
    if (processes > RowCut::kParts)
      usage_fail("{} processes, expected at most {}", processes, RowCut::kParts);
    refuse(ranks != 0, "--ranks", "of which each process is one");
  } else {
    if (devices.empty() && ranks != 0) usage_fail("--ranks: requires --devices");
    if (devices.empty() && wire != models::Precision::float32) usage_fail("--wire: requires --devices");
    if (devices.empty()) return;
    (void)rank_devices();
  }
  refuse(!devices.empty() && device != "cpu", "--device " + device, "expected one of them");
  const std::shared_ptr<LoaderChoice> loader = all.batches.chosen();
  refuse(loader && wire != models::Precision::float32, "--wire", "as mini-batches fetch no rows of others");
  refuse(all.data.inductive, "--inductive", "whose edges are new in every epoch");
  const FeaturePlace features = all.batches.features;
  refuse(!loader && (features == FeaturePlace::host || features == FeaturePlace::split),
         fmt::format("--features {}", name_of(features)),
         "expected device or file, from which each rank reads its rows");
  refuse(all.model.node_features == models::NodeFeatures::learned, "--node-features learned",
         "which are parameters of all nodes");
  refuse(kernels == SparseKernels::tiles || kernels == SparseKernels::hybrid, "--kernels",
         "tiles are of whole graphs; expected auto or csr");
  refuse(!cuts.empty(), "--cuts", "which are of whole graphs");
}

void ExecutionOptions::check(const Options& all) const {
  check_ranks(all);
  if (kernels == SparseKernels::tiles || kernels == SparseKernels::hybrid)
    expect_tiles(fmt::format("--kernels {}", name_of(kernels)), all);
  if (cuts.empty()) return;
  if (kernels == SparseKernels::csr) usage_fail("--cuts: requires --kernels auto, tiles or hybrid");
  expect_tiles("--cuts", all);
  if (all.batches.loader != "none" || all.data.inductive)
    usage_fail("--cuts: conflicts with {}, which makes new structures in every epoch",
               all.data.inductive ? "--inductive" : "--loader");
}

optim::Schedule RunOptions::make_schedule() const {
  const int64_t left = epochs - warm_up;
  optim::Schedule rates;
  if (schedule == ScheduleKind::cosine) rates = optim::cosine(left);
  if (schedule == ScheduleKind::linear) rates = optim::linear_decay(left);
  if (schedule == ScheduleKind::step) rates = optim::step_decay(lr_step, lr_gamma);
  if (schedule == ScheduleKind::none && lr_halve > 0) rates = optim::step_decay(lr_halve, 0.5);
  if (warm_up == 0) return rates;
  return optim::warm_up(warm_up, rates ? rates : optim::constant(), 1.0 / static_cast<double>(warm_up + 1));
}

void OutputOptions::use_run_folder() {
  const auto place = [this](std::string& path, const char* name) {
    if (path.empty()) path = (std::filesystem::path(run_dir) / name).string();
  };
  place(metrics, "metrics.csv");
  place(checkpoint, "checkpoint.h5");
  place(report, "report.html");
  place(tensorboard, "");
  if (profile) place(trace, "trace.json");
}

void OutputOptions::check_files(const Settings& all) const {
  if (!metrics.empty() && !metrics.ends_with(".csv") && !metrics.ends_with(".jsonl"))
    usage_fail("--metrics: expected FILE.csv or FILE.jsonl, got '{}'", metrics);
  if (!plot.empty() && !plot.ends_with(".svg")) usage_fail("--plot: expected FILE.svg, got '{}'", plot);
  if (!report.empty() && !report.ends_with(".html"))
    usage_fail("--report: expected FILE.html, got '{}'{}", report,
               all.things == "pairs of nodes" ? "" : "; --class-scores prints precision, recall and F1");
  if (!trace.empty() && !profile) usage_fail("--trace: requires --profile");
  if (!trace.empty() && !trace.ends_with(".json")) usage_fail("--trace: expected FILE.json, got '{}'", trace);
  RunFiles files;
  files.read("data", all.data.path);
  files.read("config", config);
  files.read("resume", resume);
  if (const auto initial = all.identity.find("from");
      initial != all.identity.end() && initial->second != "none")
    files.read("from", initial->second);
  files.write("checkpoint", checkpoint, "resume");
  files.write("metrics", metrics);
  files.write("predict", predict);
  files.write("plot", plot);
  files.write("report", report);
  files.write("trace", trace);
  files.write("cuts", all.compute.cuts);
  if (!predict.empty()) expect_predictions_path("predict", predict);
}

std::vector<std::string> BatchOptions::loader_names() const {
  std::vector<std::string> names;
  for (const auto& one : loaders) names.push_back(one->name());
  return names;
}

std::shared_ptr<LoaderChoice> BatchOptions::chosen() const {
  for (const auto& one : loaders)
    if (one->name() == loader) return one;
  return {};
}

int BatchOptions::num_workers(const std::string& device) const {
  if (workers == "auto") {
    constexpr int kCoresEach = 4, kMost = 4;
    return Device::parse(device).is_cuda() ? std::clamp(num_threads() / kCoresEach, 1, kMost) : 1;
  }
  const int64_t number = integer_of("workers", workers, "a number or auto");
  expect_integer("workers", number, 0, kMaxThreads);
  return static_cast<int>(number);
}

Option workers_option(std::string& value) {
  return {"workers", &value, "N",
          "threads that prefetch batches: a number (0: none), or auto (1; on a GPU up to 4, by the number of "
          "cores)",
          false};
}

Option escape_formulas_option(bool& value) {
  return {"escape-formulas", &value, "",
          "in FILE.csv of predictions, put ' before names that begin with = + - @, which spreadsheets run",
          false};
}

OptionList BatchOptions::features_list(bool over_devices) {
  std::vector<FeaturePlace> places = values_of<FeaturePlace>();
  if (!over_devices) std::erase(places, FeaturePlace::split);
  return {{"features", Choice(&features, places), "PLACE",
           fmt::format("location of the features of all nodes: device, host (pinned memory; a GPU gathers "
                       "the rows of a batch){} file (not loaded; the rows of a batch are read from --data){}",
                       over_devices ? "," : " or",
                       over_devices ? " or split (with --devices, each keeps a share of the rows, and reads "
                                      "the others' rows in place)"
                                    : ""),
           false},
          {"cached-rows", &cached_rows, "N",
           "rows of host or file features cached on the device, for the nodes with the most edges: a number, "
           "or a share as 20%",
           false}};
}

OptionList BatchOptions::layers_list(const std::string& things, bool over_devices) {
  OptionList list{
      {"evaluation", &evaluation, "METHOD",
       "layers (layer by layer over all nodes, in batches with all neighbours), graph (full batch) or auto "
       "(layers if that is exact for the model, else graph)"},
      {"batch-size", &batch_size, "N",
       fmt::format("nodes per batch of layer-wise evaluation; with --loader neighbor training {} per step",
                   things),
       true, IntegerRange{1, kMostCounted}}};
  list += features_list(over_devices);
  return list;
}

Options::Options(models::ModelFamily model_family, std::string in_a_line)
    : family(std::move(model_family)), summary(std::move(in_a_line)), model(family.defaults) {
  model.model = family.models.front();
}

OptionList bind(const models::ModelFamily& family, models::ModelOptions& values) {
  OptionList bound;
  for (const models::ModelOption& option : family.all_options()) {
    const std::string help =
        option.name == "model" ? fmt::format("{}", fmt::join(family.models, " or ")) : option.help;
    if (!help.empty())
      std::visit(
          [&](auto field) {
            if constexpr (std::is_same_v<decltype(field(values)), Choice>)
              bound.push_back({option.name, field(values), option.value, help, true, option.range});
            else
              bound.push_back({option.name, &field(values), option.value, help, true, option.range});
          },
          option.field);
  }
  return bound;
}

std::vector<Options::Group> Options::groups() {
  OptionList input{
      {"data", &data.path, "FILE", "dataset in HDF5, also as the first argument (default: the embedded demo)",
       false},
      {"split", &data.split, "K",
       "split of the dataset, or all: one run per split, cycling through them with more runs"},
      {"metric", &data.metric, "NAME", "validation metric that selects the best epoch: " + metric_help}};
  if (things == "nodes")
    input += {{"inductive", &data.inductive, "",
               "start every epoch from the edge list and derive all structures again", false},
              {"aggregation", &data.aggregation, "METHOD",
               "with --inductive, sum neighbours by reduce (over sorted rows), scatter (over the unsorted "
               "list), auto (by a rule on the counts) or measure (time both first)",
               false}};
  if (!family.typed.empty() && things == "nodes")
    input.push_back(
        {"target", &data.target, "TYPE", "type of nodes to predict (auto: the only one with labels)"});
  if (!family.typed.empty())
    input += {{"reverse", &data.reverse, "HOW",
               "add, for each relation NAME that has none, the reverse one rev_NAME; or none"}};
  input +=
      {{"features-scaling", &data.features_scaling, "HOW",
        "none, rows (divide each row by its sum), standard (subtract each column's mean and divide by its "
        "standard deviation, over the training rows), real (the same for columns with numbers other than 0 "
        "and 1, leaving others) or auto (rows for bags of words, else real)",
        false},
       {"features-bits", &data.features_bits, "N",
        "quantise features to 1 to 8 bits, over each column's range from minimum to maximum (32: not "
        "quantised)",
        false},
       {"edge-weights", &data.edge_weights, "HOW",
        "edges/weight of the dataset: use (by models that can, else say that it is not used), ignore (as if "
        "the file had none), error (stop if the model cannot use it) or attribute (as a further edge "
        "attribute)",
        false},
       {"edge-attributes", Choice(&data.edge_attributes, {EdgeUse::use, EdgeUse::ignore, EdgeUse::error}),
        "HOW", "edges/attr of the dataset, unscaled: use, ignore or error, likewise", false},
       {"precision", &compute.precision, "TYPE",
        "float32, tf32 (matrix products on a GPU with rounded operands) or bfloat16 (storage of features and "
        "parameters, with float32 masters, accumulators and loss)"},
       {"kernels", &compute.kernels, "NAME",
        "kernels of sparse products and attention on a GPU: csr (rows), tiles (tensor cores), hybrid (both, "
        "by how many of 128 rows share a column) or auto (hybrid or csr by a rule, if --precision allows "
        "rounded operands)"}};
  if (things != "graphs")  // each batch of graphs is a new structure
    input.push_back({"cuts", &compute.cuts, "FILE",
                     "file of structures cut into tensor-core tiles: read at the start, and rewritten with "
                     "new cuts at the end",
                     false});
  OptionList training{
      {"epochs", &run.epochs, "N", fmt::format("passes over the training {}", things), false,
       IntegerRange{1, kMostCounted}},
      {"lr", &run.lr, "X", "learning rate", true, kPositive},
      {"weight-decay", &run.weight_decay, "X",
       fmt::format("L2 penalty, on {}; with adamw decoupled from the gradient", decayed), true, kNotNegative},
      {"optimizer", &run.optimizer, "NAME", "adam, adamw (Loshchilov & Hutter 2019) or sgd"},
      {"momentum", &run.momentum, "X", "of sgd", true, kProbability},
      {"schedule", &run.schedule, "NAME",
       "learning rate over the epochs: none (constant), cosine or linear (from --lr to 0 at the last epoch), "
       "or step"},
      {"lr-step", &run.lr_step, "N", "step: multiply the learning rate by --lr-gamma every N epochs", true,
       IntegerRange{1, kMostCounted}},
      {"lr-gamma", &run.lr_gamma, "X", "step: the factor", true, NumberRange{0.0, 1.0, false}},
      {"warm-up", &run.warm_up, "N",
       "epochs in which the learning rate rises linearly to --lr, before the schedule", true,
       IntegerRange{0, kMostCounted}},
      {"seed", &run.seed, "N", "random seed of initial weights and dropout", true,
       IntegerRange{0, std::numeric_limits<int64_t>::max() - kMostCounted}},
      {"runs", &run.runs, "R", "repeat with seeds seed, seed + 1, ...; report mean and standard deviation",
       true, IntegerRange{1, 1'000'000}},
      {"patience", &run.patience, "N", "stop after N epochs without a better validation metric (0: never)",
       true, IntegerRange{0, kMostCounted}},
      {"patience-on", &run.patience_on, "WHAT",
       "metric; or either: stop when neither metric nor loss has matched its best for --patience epochs, and "
       "keep the last epoch in which both did"},
      {"eval-every", &run.eval_every, "N", "validate every N epochs", true, IntegerRange{1, kMostCounted}}};
  if (things != "pairs of nodes")
    training.push_back(
        {"class-weights", &run.class_weights, "HOW",
         fmt::format(
             "factors on the losses of each class: none, balanced (n / (k n_c) for n training {}, n_c of the "
             "class, k classes), a number for every class, as 1,2.5, or for some by name, as rare=5; with "
             "several labels each those of labels that are 1, balanced: labels 0 / labels 1",
             things)});
  training += program_options;
  OptionList mini_batches;
  if (!batches.loaders.empty()) {
    mini_batches.push_back(
        {"loader", &batches.loader, "NAME",
         fmt::format("mini-batch loader: {}; none: full batch", fmt::join(batches.loader_names(), ", "))});
    mini_batches.push_back(workers_option(batches.workers));
    if (batches.by_layers) mini_batches += batches.layers_list(things, compute.over_devices);
    for (const auto& loader : batches.loaders) mini_batches += loader->options();
  }
  OptionList outputs;
  if (things != "pairs of nodes")
    outputs.push_back(
        {"class-scores", &output.class_scores, "",
         "precision, recall and F1 of each class on the test examples, and the confusion matrix", false});
  outputs +=
      {{"json", &output.json, "", "print one JSON object at the end", false},
       {"quiet", &output.quiet, "", "no progress; with --json only the object", false},
       {"metrics", &output.metrics, "FILE", "write loss and metric by epoch, FILE.csv or FILE.jsonl", false},
       {"predict", &output.predict, "FILE", "write the predictions, FILE.csv, FILE.jsonl or FILE.h5", false},
       escape_formulas_option(output.escape_formulas),
       {"plot", &output.plot, "FILE", "plot loss and metric over the epochs, FILE.svg", false},
       {"report", &output.report, "FILE",
        "write an HTML report, FILE.html: curves, classes, degrees, profile", false},
       {"tensorboard", &output.tensorboard, "DIR", "write TensorBoard events to DIR during the training",
        false},
       {"profile", &output.profile, "", "time and memory by op (on a GPU, waits for every kernel)", false},
       {"trace", &output.trace, "FILE",
        "with --profile, write a trace of all ops for chrome://tracing and Perfetto, FILE.json", false},
       {"run-dir", &output.run_dir, "DIR",
        "write options, metrics, checkpoint, report and events to DIR, for `compare`", false},
       {"checkpoint", &output.checkpoint, "FILE", "write the training state to FILE", false},
       {"checkpoint-every", &output.checkpoint_every, "N", "write it every N epochs, and at the end", false,
        IntegerRange{1, kMostCounted}},
       {"resume", &output.resume, "FILE", "continue from this checkpoint", false},
       {"explain", &compute.explain, "", "print the kernels chosen for each structure, and why", false}};
  OptionList other{
      {"device", &compute.device, "NAME", "cpu, cuda or cuda:1", false},
      {"threads", &compute.threads, "N", "CPU threads (0: all cores)", false, IntegerRange{0, kMaxThreads}},
      {"no-capture", &compute.no_capture, "",
       "on a GPU, launch each kernel instead of one CUDA graph per step", false},
      {"config", &output.config, "FILE",
       "read options from FILE: one NAME = VALUE per line, or the run.json of a run folder, without the "
       "files of that run; the command line overrides them",
       false}};
  if (compute.over_devices) {
    other.insert(
        other.begin() + 1,
        {{"devices", &compute.devices, "LIST",
          "train over several devices, cuda:0,cuda:1, or all: on the rows of the graph, or on shares of each "
          "mini-batch; under mpirun or srun, those of a host's processes",
          false},
         {"ranks", &compute.ranks, "N",
          "with --devices, number of parts: the same number gives the same bits on any devices "
          "(default: one for each)",
          false, IntegerRange{0, RowCut::kParts}},
         {"wire", Choice(&compute.wire, {models::Precision::float32, models::Precision::bfloat16}), "TYPE",
          "with several ranks, in which rows of other ranks' nodes are fetched: float32, or bfloat16, "
          "rounded "
          "to half the bytes",
          false}});
  }
  return {{"Data", input},        {"Model", bind(family, model)},
          {"Training", training}, {"Mini-batches", mini_batches},
          {"Output", outputs},    {"Other", other}};
}

}  // namespace adj::training
