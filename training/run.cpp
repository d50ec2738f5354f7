#include <adjoint/core/isa.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/core/program.h>
#include <adjoint/core/random.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/models/link.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/metric.h>
#include <adjoint/training/ranks.h>
#include <adjoint/training/run.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <type_traits>

namespace adj::training {

namespace {

volatile std::sig_atomic_t caught = 0;
struct sigaction before_int, before_term;
extern "C" void catch_signal(int number) {
  caught = number;
  sigaction(number, number == SIGINT ? &before_int : &before_term, nullptr);
}

/// ROC-AUC on the test examples; NaN unless there are two classes, both present.
double test_auc(const Examples& examples, const Tensor& logits) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (examples.labels != Labels::classes || examples.outputs != 2) return kNone;
  const auto labels = examples.y.to_vector<int32_t>();
  const auto test = examples.test.to_vector<int32_t>();
  const auto positive =
      std::count_if(test.begin(), test.end(), [&](int32_t i) { return labels[static_cast<size_t>(i)] == 1; });
  if (positive == 0 || static_cast<size_t>(positive) == test.size()) return kNone;
  return metric_named("auc", examples.labels, examples.outputs).measure(logits, examples.y, examples.test);
}

/// Throws unless features are scaled, and classes called, as in the training of a checkpoint: predictions are
/// by what it has.
void expect_preprocessing(const models::Preprocessing& preprocessing, const models::Checkpoint& checkpoint) {
  models::Checkpoint current;
  preprocessing.save(current);
  const auto is_same = [&]<class T>(const char* name, T) {
    const auto values = [&](const models::Checkpoint& one) {
      const auto found = one.tensors.find(name);
      return found == one.tensors.end() ? std::vector<T>() : found->second.template to_vector<T>();
    };
    return values(current) == values(checkpoint);
  };
  for (const char* name : {"features.mean", "features.deviation", "features.scale", "features.zero"})
    if (!is_same(name, 0.0f))
      data_fail(
          "{}: tensors/{}: features were scaled by others than those of this data, expected the same --data",
          checkpoint.path, name);
  const bool has_names = checkpoint.tensors.contains("classes.names");  // older ones have none
  if (has_names && (!is_same("classes.names", uint8_t{}) || !is_same("classes.offsets", int64_t{})))
    data_fail(
        "{}: tensors/classes.names: classes have other names than in this data ({}), expected the same "
        "--data",
        checkpoint.path,
        preprocessing.class_names.empty() ? "none" : detail::listed(preprocessing.class_names, 5));
}

/// The embeddings of nodes, also of a model of pairs of them.
std::vector<const nn::Embedding*> tables_of(const models::Model& model) {
  if (const auto* pairs = dynamic_cast<const models::PairModel*>(&model)) return pairs->encoder().tables();
  const auto* of_nodes = dynamic_cast<const models::NodeModel*>(&model);
  return of_nodes == nullptr ? std::vector<const nn::Embedding*>() : of_nodes->tables();
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const models::Model& model, const RunOptions& options) {
  using enum OptimizerKind;
  const auto make = [&]<class Optimizer>(auto decayed, std::type_identity<Optimizer>) {
    optim::Group<decltype(decayed)> groups[] = {{{}, decayed}, {{}, decayed}};
    groups[1].options.weight_decay = 0.0;
    const std::vector<const nn::Embedding*> tables = tables_of(model);
    const auto in_table = [&](const Var& parameter) {
      return std::ranges::any_of(tables,
                                 [&](const auto* table) { return table->weight.id() == parameter.id(); });
    };
    for (const auto& [name, parameter] : model.named_parameters())
      if (!in_table(parameter)) groups[model.decays(name) ? 0 : 1].parameters.push_back(parameter);
    std::vector<optim::Group<decltype(decayed)>> filled;
    for (auto& group : groups)
      if (!group.parameters.empty()) filled.push_back(std::move(group));
    for (const nn::Embedding* table : tables) filled.push_back({{table->weight}, decayed});
    return std::unique_ptr<optim::Optimizer>(new Optimizer(filled));
  };
  if (options.optimizer == sgd)
    return make(
        optim::SGDOptions{
            .lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay},
        std::type_identity<optim::SGD>());
  const optim::AdamOptions decayed{.lr = options.lr, .weight_decay = options.weight_decay};
  return options.optimizer == adam ? make(decayed, std::type_identity<optim::Adam>())
                                   : make(decayed, std::type_identity<optim::AdamW>());
}

void update(optim::Optimizer& optimizer, const models::NodeModel& model) {
  optimizer.step();
  const auto tables = model.tables();
  size_t group = optimizer.num_groups() - tables.size();
  for (const nn::Embedding* table : tables) {
    if (const auto rows = table->take_rows())
      optimizer.step_rows(group, rows->numbers, rows->gradient, rows->distinct);
    ++group;
  }
}

/// While alive, the first SIGINT or SIGTERM waits for the end of the epoch; a second one has its default
/// effect.
class Run::SignalScope {
 public:
  SignalScope() {
    struct sigaction action {};
    action.sa_handler = catch_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, nullptr, &before_int);
    sigaction(SIGTERM, nullptr, &before_term);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
  ~SignalScope() {
    sigaction(SIGINT, &before_int, nullptr);
    sigaction(SIGTERM, &before_term, nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
};

Run::Run(const Settings& settings, const LearningTask& task, const RankPart* part)
    : settings_(settings),
      task_(task),
      part_(part),
      examples_(task.examples.to(device())),
      schedule_(settings.run.make_schedule()) {
  // Refuses column names before the training, not after it.
  if (!settings.output.metrics.empty()) (void)metrics_file(settings.output.metrics, task.metric);
  if (settings.output.profile && leads()) profiler_ = std::make_unique<Profiler>();
}

Run::~Run() = default;

bool Run::leads() const { return part_ == nullptr || part_->rows().group.rank() == 0; }
Device Run::device() const { return part_ != nullptr ? part_->device() : task_.data.device(); }
std::string Run::place() const { return part_ != nullptr ? part_->describe() : device().str(); }

LoaderOptions Run::training_batches() const {
  LoaderOptions options{
      .batch_size = settings_.batches.batch_size, .shuffle = true, .seed = seed(), .workers = workers()};
  if (part_ == nullptr) return options;
  options.rank = part_->rows().group.rank();
  options.ranks = part_->rows().group.size();
  return options;
}

bool Run::next_run() {
  if (++run_ == task_.runs) {
    signals_.reset();
    progress_.reset();  // results begin on a line of their own
    return false;
  }
  state_.reset();
  gradients_.reset();
  best_.reset();
  board_.reset();
  manual_seed(seed());
  choose_split();
  return true;
}

void Run::choose_split() {
  examples_.use_split(task_.splits[static_cast<size_t>(run_) % task_.splits.size()]);
  const bool of_nodes = examples_.things == "nodes";
  objective_ = Objective(examples_, task_.class_weights,
                         of_nodes ? std::optional(task_.data.num_nodes()) : std::nullopt);
}

void Run::begin(models::Model& model, optim::Optimizer& optimizer) {
  model_ = &model;
  optimizer_ = &optimizer;
  name_ = model.describe();
  best_ = std::make_unique<optim::EarlyStopping>(model, settings_.run.patience);
  epoch_ = looked_at_ = 0;
  stopped_ = timing_ = false;
  between_.reset();
  if (part_ != nullptr)
    gradients_ = std::make_unique<optim::GradientSums>(model.parameters(), part_->rows().group);
  const bool of_rows = part_ == nullptr && settings_.batches.chosen() != nullptr &&
                       settings_.run.optimizer != OptimizerKind::sgd &&
                       settings_.compute.precision != models::Precision::bfloat16;
  if (const auto* of_nodes = model.as<models::NodeModel>())
    for (const nn::Embedding* table : of_nodes->tables()) table->collect_rows(of_rows);
  describe_state();
  const OutputOptions& o = settings_.output;
  if (!begun_ && !o.resume.empty()) resume(o.resume);
  if (!begun_ && leads()) {
    if (o.resume.empty() && !o.tensorboard.empty() && has_events(events_folder(o.tensorboard, 0, task_.runs)))
      data_fail("{}: already holds events of a training, expected another folder (--tensorboard)",
                o.tensorboard);
    if (!o.run_dir.empty()) {  // after all that may be refused
      folder_ = lock_run_folder(o.run_dir);
      begin_run(o.run_dir, summary(), o.resume);
    }
    if (!o.checkpoint.empty() && done()) state_->save(o.checkpoint, epoch_);  // no epoch will
    log_info("{} on {}", name_, place());
    progress_.emplace(task_.runs * settings_.run.epochs, run_ * settings_.run.epochs + epoch_);
  }
  if (!begun_ && (leads() || launch().ranks > 1)) {  // once in each process
    caught = 0;
    signals_ = std::make_unique<SignalScope>();
  }
  begun_ = true;
  if (settings_.run.eval_every > 1) between_ = std::make_unique<optim::NonFiniteMonitor>(device());
}

bool Run::next_epoch() {
  if (done()) return false;
  if (schedule_) optimizer_->set_rate_factor(schedule_(epoch_));
  if (!timing_) watch_.start();
  timing_ = true;
  return true;
}

void Run::end_epoch(const Tensor& loss, Evaluator& evaluator) {
  const RunOptions& o = settings_.run;
  const std::string& checkpoint = settings_.output.checkpoint;
  if (between_) between_->add(loss);
  ++epoch_;
  watch_.count();
  const bool last = epoch_ == o.epochs;
  const bool evaluated = last || epoch_ % o.eval_every == 0;
  const int signal = caught_signal();
  bool keep = epoch_ % settings_.output.checkpoint_every == 0 || signal != 0;
  if (evaluated || keep) {
    epoch_ms_.push_back(watch_.stop(device()));
    timing_ = false;
  }
  if (evaluated) {
    const double train_loss = loss.item();
    if (std::isfinite(train_loss)) require_finite_between();
    evaluate(train_loss, evaluator);
    const EpochRecord& now = record_.history.back();
    const double score = task_.metric.score(now.val_metric);
    stopped_ = o.patience_on == PatienceOn::either ? best_->observe(epoch_, score, now.val_loss)
                                                   : best_->observe(epoch_, score);
  }
  if (progress_ && progress_->due()) {
    progress_->label(count());
    progress_->note(note(loss.item()));
  }
  keep = keep || last || stopped_;
  if (keep && !checkpoint.empty()) {
    if (between_ && !evaluated && optim::first_not_finite(model_->state()).empty()) require_finite_between();
    if (leads()) state_->save(checkpoint, epoch_);  // throws for non-finite state
  }
  if (progress_) stopped_early() ? progress_->shorten(1) : progress_->advance();  // finish() prints the stop
  if (signal != 0)
    throw Interrupted{signal, checkpoint.empty()
                                  ? fmt::format("interrupted after epoch {}; nothing was written", epoch_)
                                  : fmt::format("interrupted after epoch {}; continue with --resume {}",
                                                epoch_, checkpoint)};
}

/// The signal that was caught, if any: all ranks end at the same epoch.
int Run::caught_signal() const {
  if (part_ == nullptr) return caught;
  return part_->any(caught != 0) ? std::max(int{caught}, 1) : 0;  // one that comes later, later
}

void Run::require_finite_between() const {
  if (between_ && !between_->all_finite())
    fail("{}: a training loss was not finite; try a smaller --lr", since_last_look());
}

std::string Run::count() const {
  const std::string epoch = fmt::format("epoch {}/{}", epoch_, settings_.run.epochs);
  return task_.runs < 2 ? epoch : fmt::format("{}  {}", run_name(), epoch);
}

std::string Run::run_name() const {
  return fmt::format("{} {}/{}", examples_.cross_validated ? "fold" : "run", run_ + 1, task_.runs);
}

std::string Run::note(double train_loss) const {
  std::string text = fmt::format("loss {:.4f}", train_loss);
  if (record_.history.empty() || record_.history.back().run != run_) return text;
  const EpochRecord& last = record_.history.back();
  text += fmt::format("  validation {:.4f}", last.val_metric);
  if (last.epoch != epoch_) text += fmt::format(" (epoch {})", last.epoch);
  return text;
}

std::string Run::since_last_look() const {
  return epoch_ == looked_at_ + 1 ? fmt::format("epoch {}", epoch_)
                                  : fmt::format("epochs {} to {}", looked_at_ + 1, epoch_);
}

// The loss is read here anyway, and checking the parameters costs one pass next to a full forward pass.
// Non-finite parameters stay so; losses may recover, so those in between are monitored.
void Run::evaluate(double train_loss, Evaluator& evaluator) {
  if (!std::isfinite(train_loss))
    fail("{}: the training loss is {}; try a smaller --lr", since_last_look(), train_loss);
  optim::require_finite(*model_, since_last_look());
  const Evaluation now = evaluator.validate();
  const double val_loss = now.loss.item();
  if (!std::isfinite(val_loss)) {
    const bool overflow = !optim::first_not_finite({{"logits", now.outputs}}).empty();
    fail("{}: the {} {}; try a smaller --lr", since_last_look(),
         overflow ? fmt::format("{} are not finite, and the validation loss is", outputs_name())
                  : "validation loss is",
         val_loss);
  }
  looked_at_ = epoch_;
  record_.history.push_back(
      {run_, epoch_, train_loss, val_loss, task_.metric.measure(now.outputs, examples_.y, examples_.val)});
  const std::string& folder = settings_.output.tensorboard;
  if (folder.empty() || !leads()) return;
  if (!board_) board_ = std::make_unique<TensorBoard>(events_folder(folder, run_, task_.runs));
  board_->add(epoch_, scalars_of(record_.history.back(), task_.metric, optimizer_->learning_rate(),
                                 epoch_ms_.back() / 1e3));
}

const char* Run::outputs_name() const {
  return examples_.labels == Labels::numbers ? "predictions" : "logits";
}

void Run::finish(Evaluator& evaluator) {
  if (progress_) progress_->shorten(settings_.run.epochs - epoch_);
  best_->restore();
  output_ = evaluator.outputs();
  // Checks all examples, also those outside the split: predictions contain them.
  if (!optim::first_not_finite({{"logits", output_}}).empty())
    fail("epoch {}: the {} are not finite; try a smaller --lr", best_->best_epoch(), outputs_name());
  RunResult result{record_.history.back().train_loss,
                   task_.metric.score(best_->best_metric()),
                   task_.metric.measure(output_, examples_.y, examples_.test),
                   test_auc(examples_, output_),
                   best_->best_epoch(),
                   objective_.loss_of_output(output_, examples_.test)};
  for (const Metric& metric : task_.reported)
    for (const Tensor* part : {&examples_.val, &examples_.test})
      result.reported.push_back(metric.measure(output_, examples_.y, *part));
  if (task_.runs > 1)
    log_info("{}: {}{} {:.4f} at epoch {}{}", run_name(), examples_.cross_validated ? "" : "test ",
             task_.metric.name, result.test_metric, result.best_epoch,
             stopped_early() ? fmt::format("; stopped after {} of {}", epoch_, settings_.run.epochs) : "");
  else if (stopped_early())
    log_info("{}  {}  (stopped: {} for {} epochs)", count(), note(result.train_loss),
             settings_.run.patience_on == PatienceOn::either
                 ? fmt::format("validation {} and loss worse than before", task_.metric.name)
                 : fmt::format("no better validation {}", task_.metric.name),
             settings_.run.patience);
  record_.add(std::move(result));
  if (!settings_.output.report.empty() && run_ + 1 == task_.runs) insight_ = insight_of(evaluator);
}

Insight Run::insight_of(Evaluator& evaluator) const {
  constexpr int64_t kColumns = 200, kRepeats = 3, kNodes = 2000, kWidth = 1024;
  constexpr double kMost = 2e9;  // nodes and edges in all passes
  Insight insight;
  const Features& x = task_.features;
  const int64_t edges = task_.data.graph.whole_sizes().entries;
  const double passes = static_cast<double>(kRepeats * task_.num_features) *
                        static_cast<double>(task_.data.num_nodes() + edges);
  if (!x || x.is_quantized() || x.is_typed())
    insight.no_importance = "Not computed: the features are not in memory as numbers.";
  else if (task_.num_features > kColumns || passes > kMost)
    insight.no_importance = fmt::format("Not computed: {} columns of {} nodes and {} edges would take long.",
                                        task_.num_features, task_.data.num_nodes(), edges);
  else if (!evaluator.outputs_for(x))
    insight.no_importance = "Not computed for models of graphs.";
  else
    insight.importance =
        permutation_importance(x.to_dense().to(DType::f32), kRepeats, seed(), [&](const Tensor& shuffled) {
          const Tensor out = evaluator.outputs_for(Features(shuffled).to(settings_.compute.dtype()));
          return task_.metric.score(task_.metric.measure(out, examples_.y, examples_.test));
        });
  Tensor z = evaluator.embeddings();
  if (z && task_.preprocessing.types)  // of the target's nodes, or the sources of links
    z = z.rows(0, task_.preprocessing.types->schema.nodes.front().count);
  if (!z || z.size(1) > kWidth || z.size(0) < 3) return insight;
  const int64_t count = std::min(z.size(0), kNodes);
  for (int64_t k = 0; k < count; ++k) insight.nodes.push_back(static_cast<int32_t>(k * z.size(0) / count));
  insight.embeddings = principal_plane(detail::gather_edges(z, Tensor::from(insight.nodes, z.device())));
  return insight;
}

double Run::epoch_ms() const {
  if (epoch_ms_.empty()) return 0.0;
  std::vector<double> sorted = epoch_ms_;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

RunSummary Run::summary() const {
  return {.program = settings_.program(),
          .version = std::string(version()),
          .isa = std::string(cpu_isa()),
          .device = place(),
          .options = settings_.values,
          .data = task_.contents,
          .validation = task_.validation};
}

void Run::describe_state() {
  state_ = std::make_unique<TrainingState>(settings_.program(), *model_, *optimizer_);
  Settings::Texts before;  // of options that older checkpoints lack
  for (const models::ModelOption& option : settings_.family.all_options())
    if (!option.before.empty()) before[option.name] = option.before;
  before["model"] = settings_.family.models.front();  // of families that had only one
  before.insert({{"class-weights", "none"},
                 {"optimizer", "adam"},
                 {"momentum", "0.9"},
                 {"schedule", "none"},
                 {"lr-step", "50"},
                 {"lr-gamma", "0.1"},
                 {"warm-up", "0"},
                 {"fanouts-per", "node"}});
  for (const auto& [option, text] : settings_.identity) {
    std::function<std::string(const models::Checkpoint&)> otherwise;
    if (const auto found = before.find(option); found != before.end())
      otherwise = [value = found->second](const models::Checkpoint&) { return value; };
    state_->require("option." + option, text, otherwise);
  }
  state_->require("features.scaling", std::string(name_of(task_.preprocessing.scaling.kind())),
                  [](const models::Checkpoint& before) {
                    return std::string(name_of(models::Preprocessing::scaling_kind(before)));
                  });
  state_->require("features.bits", fmt::format("{}", task_.preprocessing.quantization.bits()),
                  [](const models::Checkpoint& before) {
                    return fmt::format("{}", models::Preprocessing::feature_bits(before));
                  });
  if (task_.runs > 1 || settings_.run.spans_epochs())
    state_->require("option.epochs", fmt::format("{}", settings_.run.epochs));
  state_->require("dataset", task_.fingerprint);
  const models::EdgeInputs& edges = task_.preprocessing.edges;
  state_->require("edges.weights", std::string(name_of(edges.weights)), [this](const models::Checkpoint&) {
    // Checkpoints without the fact used weights wherever the model could.
    using enum models::EdgeWeights;
    const bool could = settings_.family.edge_support(settings_.model).weights;
    const bool did =
        task_.preprocessing.edges.weights == used || settings_.data.edge_weights == EdgeUse::ignore;
    return std::string(name_of(could && did ? used : unused));
  });
  state_->require("edges.attributes", fmt::format("{}", edges.attributes),
                  [](const models::Checkpoint&) { return std::string("0"); });
  state_->require("model", name_).add(*best_);
  // `predict` rebuilds the model from these and the options.
  state_->require("aggregation", task_.aggregation())
      .require("task", examples_.task)
      .require("features",
               fmt::format("{}", task_.num_features - models::positional_columns(settings_.model)))
      .require("outputs", fmt::format("{}", examples_.outputs));
  state_->add([this](models::Checkpoint& checkpoint) { save(checkpoint); },
              [this](const models::Checkpoint& checkpoint) { load(checkpoint); });
}

void Run::resume(const std::string& path) {
  epoch_ = looked_at_ = state_->resume(path);  // throws for non-finite state
  if (epoch_ > settings_.run.epochs)
    data_fail("{}: --resume after {} epochs, expected at most --epochs {}", path, epoch_,
              settings_.run.epochs);
  if (epoch_ == settings_.run.epochs && best_->best_epoch() < 0)
    data_fail("{}: tensors/history: no row of run {} after {} epochs", path, run_, epoch_);
}

// Model, optimizer, generator and best weights are saved by the state itself.

void Run::save(models::Checkpoint& checkpoint) const {
  checkpoint.set("run", run_);
  checkpoint.set("stopped", int64_t{stopped_});
  record_.write(checkpoint, task_.reported);
  task_.preprocessing.save(checkpoint);
  checkpoint.set("undirected", int64_t{task_.data.undirected || task_.data.graph.is_symmetric()});
  // For predictions; a resumed training compares what the model takes.
  checkpoint.facts["option.edge-weights"] = name_of(settings_.data.edge_weights);
  checkpoint.facts["option.edge-attributes"] = name_of(settings_.data.edge_attributes);
  if (!task_.graph.empty()) checkpoint.facts["graph"] = task_.graph;
  if (!objective_.mean()) return;
  checkpoint.tensors["targets.mean"] = objective_.mean();
  checkpoint.tensors["targets.deviation"] = objective_.deviation();
}

void Run::load(const models::Checkpoint& checkpoint) {
  expect_preprocessing(task_.preprocessing, checkpoint);
  run_ = checkpoint.integer("run", 0, task_.runs - 1);
  choose_split();
  stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
  record_ = TrainingRecord::read(checkpoint, task_.metric, task_.reported, run_, settings_.run.epochs);
  const bool begun = !record_.history.empty() && record_.history.back().run == run_;
  if (stopped_ && !begun)
    data_fail("{}: facts@stopped: 1, but tensors/history has no row of run {}", checkpoint.path, run_);
  const EpochRecord* best = record_.row_of(run_, best_->best_epoch());
  if (begun ? best == nullptr : best_->best_epoch() != -1)
    data_fail("{}: facts@best_epoch: {}, expected {} of run {}", checkpoint.path, best_->best_epoch(),
              begun ? "an epoch in tensors/history" : "-1 without a row", run_);
  if (best != nullptr && task_.metric.score(best->val_metric) != best_->best_metric())
    data_fail("{}: facts@best_metric: {}, but tensors/history has {} at epoch {}", checkpoint.path,
              best_->best_metric(), task_.metric.score(best->val_metric), best->epoch);
}

}  // namespace adj::training
