#include <adjoint/core/allocator.h>
#include <adjoint/core/isa.h>
#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/run_files.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/training/embedding_run.h>

#include <algorithm>
#include <filesystem>

namespace adj::training {

namespace {

/// The upper one for an even number; 0 for none.
double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

}  // namespace

OptionList EmbeddingOptions::validation_options(const std::string& metric, const std::string& drawn) {
  return {{"eval-every", &eval_every, "N", "epochs from one validation to the next", true,
           IntegerRange{1, kMostCounted}},
          {"patience", &patience, "N",
           fmt::format("epochs without a better {} before it stops (0: never)", metric), true,
           IntegerRange{0, kMostCounted}},
          {"seed", &seed, "N", "of " + drawn, true, IntegerRange{0, 2147483647}}};
}

Options::Group EmbeddingOptions::device_options() {
  return {"Device",
          {{"device", &device, "NAME", "cpu, cuda or cuda:1", false},
           {"threads", &threads, "N", "CPU threads (0: all)", false, IntegerRange{0, kMaxThreads}},
           {"no-capture", &no_capture, "", "launch each kernel, no CUDA graph of a step", false}}};
}

OptionList EmbeddingOptions::state_options(const std::string& metric, const std::string& note) {
  return {{"checkpoint", &checkpoint, "FILE",
           "state of the training, at every validation and at the end" + note, false},
          {"resume", &resume, "FILE", "checkpoint to continue from", false},
          {"metrics", &metrics, "FILE",
           fmt::format("loss and {} of every validation: .csv or .jsonl", metric), false}};
}

OptionList EmbeddingOptions::run_options() {
  return {{"run-dir", &run_dir, "DIR", "write options, metrics, checkpoint and results to DIR, for `compare`",
           false},
          {"config", &config, "FILE",
           "options from FILE: one NAME = VALUE per line, or the run.json of a run folder, without the files "
           "of that run; the command line overrides them",
           false},
          {"json", &json, "", "print the results as a JSON object", false},
          {"quiet", &quiet, "", "print only the results", false}};
}

void EmbeddingOptions::name_files(const std::string& data, const Files& reads, const Files& writes) {
  RunFiles files;
  for (const auto& [name, path] : {std::pair("data", data), {"resume", resume}, {"config", config}})
    files.read(name, path);
  for (const auto& [name, path] : reads) files.read(name, path);
  files.write("checkpoint", checkpoint, "resume");
  for (const auto& [name, path] : {std::pair("metrics", metrics), {"embeddings", embeddings}, {"out", out}})
    if (!path.empty()) files.write(name, path);
  for (const auto& [name, path] : writes)
    if (!path.empty()) files.write(name, path);
  // Of the folder, which the training makes and checks.
  if (!run_dir.empty())
    for (const auto& [path, name] : {std::pair(&metrics, "metrics.csv"), {&checkpoint, "checkpoint.h5"}})
      if (path->empty()) *path = (std::filesystem::path(run_dir) / name).string();
}

EmbeddingRun::EmbeddingRun(std::string program, const EmbeddingOptions& options)
    : program_(std::move(program)),
      settings_([&] {
        if (options.quiet) set_log_level(LogLevel::warning);
        if (options.threads > 0) set_num_threads(static_cast<int>(options.threads));
        manual_seed(static_cast<uint64_t>(options.seed));
        return options;
      }()),
      new_folder_(settings_.run_dir.empty() ? nullptr
                                            : reserve_run_folder(settings_.run_dir, settings_.resume)),
      device_(Device::parse(settings_.device)),
      finite_(device_) {}

void EmbeddingRun::prepare(nn::Module& model, optim::Optimizer& optimizer, int64_t epochs, int64_t steps,
                           const std::vector<std::string>& columns) {
  model_ = &model;
  epochs_ = epochs;
  steps_ = steps;
  best_.emplace(model, settings_.patience);
  state_.emplace(program_, model, optimizer);
  progress_.emplace(epochs);
  loss_sum_ = Tensor::zeros({}, DType::f32, device_);
  if (!settings_.metrics.empty()) metrics_.emplace(settings_.metrics, columns);
  state_->require("dataset", fingerprint());
  for_options([this](const Option& option) {
    if (option.decides && option.name != "data") state_->require("option." + option.name, option.text());
  });
  state_->add(*best_);
  if (metrics_) state_->add(*metrics_);
  state_->add(
      [this](models::Checkpoint& checkpoint) {
        checkpoint.set("train_loss", train_loss_);
        checkpoint.set("stopped", int64_t{stopped_});
      },
      [this](const models::Checkpoint& checkpoint) {
        train_loss_ = checkpoint.number("train_loss");
        stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
      });
}

bool EmbeddingRun::next_epoch() {
  const std::string &run_dir = settings_.run_dir, &resume = settings_.resume;
  if (begun_) end_epoch();
  if (!begun_ && !resume.empty()) {
    epoch_ = state_->resume(resume);
    if (epoch_ > epochs_)
      data_fail("{}: --resume after {} epochs, expected at most --epochs {}", resume, epoch_, epochs_);
    progress_->advance(epoch_);
  }
  if (!begun_ && !run_dir.empty() && !folder_) {  // after all that may be refused
    folder_ = lock_run_folder(run_dir);
    begin_run(run_dir, summary(), resume);
  }
  if (epoch_ >= epochs_ || stopped_) {
    if (best_->best_epoch() >= 0) best_->restore();
    progress_->shorten(epochs_ - epoch_);
    evaluate();
    return false;
  }
  if (!begun_) watch_.start();
  begun_ = true;
  begin_epoch();
  loss_sum_.zero_();
  return true;
}

void EmbeddingRun::end_epoch() {
  ++epoch_;
  watch_.count();
  const bool last = epoch_ >= epochs_;
  if (epoch_ % settings_.eval_every == 0 || last) {
    epoch_ms_.push_back(watch_.stop(device_));
    train_loss_ = loss_sum_.item() / static_cast<double>(steps_);
    if (!finite_.all_finite()) fail("epoch {}: the loss is not finite; a lower --lr may help", epoch_);
    optim::require_finite(*model_, fmt::format("epoch {}", epoch_));
    if (const std::optional<double> metric = validate()) stopped_ = best_->observe(epoch_, *metric) && !last;
    if (metrics_) {
      write_row(*metrics_);
      metrics_->flush();
    }
    if (!settings_.checkpoint.empty()) state_->save(settings_.checkpoint, epoch_);
    progress_->note(
        fmt::format("loss {:.4f}  {}  best {:.4f}", train_loss_, progress_note(), best_->best_metric()));
    watch_.start();
  }
  progress_->advance();
}

void EmbeddingRun::add(const Tensor& loss) {
  kernels::linear_combination({.a = loss_sum_, .beta = 1.0, .b = loss, .y = loss_sum_});
  finite_.add(loss);
}

double EmbeddingRun::epoch_ms() const { return median_of(epoch_ms_); }

std::string EmbeddingRun::json_end() const {
  return fmt::format(R"("best_epoch": {}, "epoch_ms": {:.4f}, "peak_mb": {:.1f}}})", best_epoch(), epoch_ms(),
                     static_cast<double>(memory_stats(device_).peak) / 1048576.0);
}

RunSummary EmbeddingRun::summary() const {
  RunSummary run{.program = program_,
                 .version = std::string(version()),
                 .isa = std::string(cpu_isa()),
                 .device = device_.str(),
                 .data = fingerprint()};
  for_options([&](const Option& option) { run.options[option.name] = option.text(); });
  return run;
}

void EmbeddingRun::write_results() const {
  if (!settings_.json || !settings_.quiet) print();
  if (settings_.json) fmt::print("{}\n", json());
  if (settings_.run_dir.empty()) return;
  RunSummary run = summary();
  run.result = json();
  write_run(settings_.run_dir, run);
}

}  // namespace adj::training
