#include <adjoint/core/error.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/run_folder.h>
#include <adjoint/training/settings.h>

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

/// Refuses mini-batch options of a loader that was not chosen.
void check_loaders(Settings& o) {
  const auto refuse = [&o](const OptionList& options, const std::string& loaders) {
    for (const Option& option : options)
      if (o.changed(option.name, option.text()) && !(option.name == "features" && o.compute.over_ranks()))
        usage_fail("--{}: requires --loader {}", option.name, loaders);
  };
  BatchOptions& b = o.batches;
  for (const auto& loader : b.loaders)
    if (loader->name() != b.loader) refuse(loader->options(), loader->name());
  if (b.loader != "none") return;
  OptionList of_any{workers_option(b.workers)};
  if (b.by_layers) of_any += b.layers_list(o.things, o.compute.over_devices);
  refuse(of_any, fmt::format("{}", fmt::join(b.loader_names(), " or ")));
}

/// Refuses what is not made for graphs of several types.
void check_types(const Settings& o) {
  const auto refuse = [&o](bool conflict, const std::string& option, const char* expected) {
    if (conflict)
      usage_fail("{}: conflicts with {}, whose graphs have several types of nodes; expected {}", option,
                 o.program(), expected);
  };
  const FeaturePlace place = o.batches.features;
  refuse(place == FeaturePlace::split, "--features split", "device, host or file");
  refuse(place == FeaturePlace::file && o.batches.loader == "none", "--features file without --loader",
         "device");
  refuse(o.batches.cached_rows != "0", "--cached-rows", "0");
  refuse(o.data.features_bits != 32, fmt::format("--features-bits {}", o.data.features_bits), "32");
  refuse(o.data.inductive, "--inductive", "a training without it");
  refuse(o.model.node_features != models::NodeFeatures::file,
         fmt::format("--node-features {}", name_of(o.model.node_features)),
         "file, where types without features have learnt embeddings");
}

/// The encoding is computed from the whole graph, once, before the features are placed.
void check_positional(const Settings& o) {
  if (models::positional_columns(o.model) == 0 || o.model.positional == models::Positional::degree) {
    if (o.changed("positional-size", fmt::format("{}", o.model.positional_size)))
      usage_fail("--positional-size: requires --positional laplacian or random-walk");
  }
  if (models::positional_columns(o.model) == 0) return;
  const std::string option = fmt::format("--positional {}", name_of(o.model.positional));
  const FeaturePlace place = o.batches.features;
  if (place == FeaturePlace::file || place == FeaturePlace::split)
    usage_fail("{}: conflicts with --features {}, expected device or host", option, name_of(place));
  if (o.data.features_bits != FeatureQuantization::kNone)
    usage_fail("{}: conflicts with --features-bits {}, expected 32", option, o.data.features_bits);
  if (o.data.inductive)
    usage_fail("{}: conflicts with --inductive, as it would show the training the edges of other nodes",
               option);
}

/// "weight_decay" for "weight-decay".
std::string member_name(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

}  // namespace

Settings::Settings(Options read, Texts usual) : Options(std::move(read)), defaults(std::move(usual)) {
  for (const Group& group : groups())
    for (const Option& option : group.options) values[option.name] = option.text();
  check();
  describe();
  if (!output.run_dir.empty()) output.use_run_folder();
}

bool Settings::changed(const std::string& option, const std::string& text) const {
  const auto usual = defaults.find(option);
  return usual != defaults.end() && usual->second != text;
}

void Settings::check() {
  for (const Group& group : groups())
    for (const Option& option : group.options) option.check();
  data.check();
  expect_integer("warm-up", run.warm_up, 0, run.epochs - 1);
  if (changed("checkpoint-every", fmt::format("{}", output.checkpoint_every)) && output.checkpoint.empty() &&
      output.run_dir.empty())
    usage_fail("--checkpoint-every: requires --checkpoint or --run-dir");
  const auto needs = [this](const char* option, const auto& value, const char* other) {
    if (changed(option, fmt::format("{}", value))) usage_fail("--{}: requires --{}", option, other);
  };
  if (run.optimizer != OptimizerKind::sgd) needs("momentum", run.momentum, "optimizer sgd");
  if (run.schedule != ScheduleKind::step) {
    needs("lr-step", run.lr_step, "schedule step");
    needs("lr-gamma", run.lr_gamma, "schedule step");
  }
  if (run.schedule != ScheduleKind::none) needs("lr-halve", run.lr_halve, "schedule none");
  compute.check(*this);
  if (data.aggregation == AggregationMethod::measure && !output.resume.empty())
    usage_fail(
        "--aggregation measure: conflicts with --resume, as another choice would change the result; "
        "expected reduce or scatter, as the checkpoint's training had it");
  if (data.features_bits != 32 && batches.features == FeaturePlace::file)
    usage_fail("--features-bits {}: conflicts with --features file, which is not quantised; expected host",
               data.features_bits);
  family.check(model);
  if (typed()) check_types(*this);
  if (model.node_features != models::NodeFeatures::random_walk &&
      changed("walk-steps", fmt::format("{}", model.walk_steps)))
    usage_fail("--walk-steps: requires --node-features random-walk");
  if (model.node_features != models::NodeFeatures::file && batches.features == FeaturePlace::file)
    usage_fail("--node-features {}: conflicts with --features file, expected device or host",
               name_of(model.node_features));
  check_positional(*this);
  if (model.graphs.pool != nn::GraphPool::topk && model.graphs.pool != nn::GraphPool::sag)
    needs("pool-ratio", model.graphs.pool_ratio, "pool topk or sag");
  if (family.takes("bits") && compute.precision == models::Precision::bfloat16)
    usage_fail("--precision bfloat16: quantisation needs float32 inputs, expected float32 or tf32");
  (void)batches.num_workers(compute.device);
  if (things != "graphs" && batches.loader == "none") model.norm_momentum = 1.0;  // every step has all nodes
  if (batches.loaders.empty()) return;
  std::vector<std::string> names = batches.loader_names();
  names.insert(names.begin(), "none");
  expect_one_of("loader", batches.loader, names);
  check_loaders(*this);
  const std::shared_ptr<LoaderChoice> loader = batches.chosen();
  if (batches.evaluation == EvaluationMethod::automatic) {
    const bool exact = batches.by_layers && family.exact_by_layers(model);
    batches.evaluation = exact ? EvaluationMethod::layers : EvaluationMethod::graph;
    evaluation_chosen = loader && batches.by_layers && !exact;
  }
  if (!loader) return;
  loader->check(*this);
  batches.check_features(compute.device, evaluation_chosen ? model.model : "");
  if (data.inductive)
    usage_fail("--inductive: conflicts with --loader {}, as the sampled graph is kept", loader->name());
}

void Settings::describe() {
  const std::set<std::string> members{"model", "seed", "runs", "metric"};  // have their own members in --json
  for (const Group& group : groups())
    for (const Option& option : group.options) {
      if (!option.decides) continue;
      identity[option.name] = option.text();
      if (group.name != "Mini-batches" || batches.loader != "none")
        if (members.count(option.name) == 0)
          hyperparameters.emplace_back(member_name(option.name), option.json());
    }
}

void Settings::apply() const {
  if (output.quiet) set_log_level(LogLevel::warning);
  if (evaluation_chosen)
    log_info("evaluation: over the whole graph ({} is not exact layer by layer)", model.model);
  compute.apply();
  compute_context().aggregation = data.aggregation == AggregationMethod::reduce    ? Aggregation::reduce
                                  : data.aggregation == AggregationMethod::scatter ? Aggregation::scatter
                                                                                   : Aggregation::automatic;
  (void)Device::parse(compute.device);
  if (launch().rank > 0) return;  // the first writes
  if (!output.run_dir.empty()) new_folder_ = reserve_run_folder(output.run_dir, output.resume);
  output.check_files(*this);
}

}  // namespace adj::training
