#include <adjoint/core/text.h>
#include <adjoint/data/dataset.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/training/training_state.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr std::string_view kOption = "option.";

void put(Checkpoint& checkpoint, const std::string& prefix,
         const std::vector<std::pair<std::string, Tensor>>& state) {
  for (const auto& [name, tensor] : state) checkpoint.tensors[prefix + name] = tensor;
}

/// Checkpoint::with_prefix() for possibly no tensors: an optimizer without momentum.
std::map<std::string, Tensor> any_with_prefix(const Checkpoint& checkpoint, const std::string& prefix) {
  const auto first = checkpoint.tensors.lower_bound(prefix);
  const bool found = first != checkpoint.tensors.end() && first->first.starts_with(prefix);
  return found ? checkpoint.with_prefix(prefix) : std::map<std::string, Tensor>{};
}

using Named = std::vector<std::pair<std::string, Tensor>>;

Named with_prefixes(const Checkpoint& checkpoint, const std::vector<std::string>& prefixes) {
  Named found;
  for (const std::string& prefix : prefixes)
    for (const auto& [name, tensor] : any_with_prefix(checkpoint, prefix))
      found.emplace_back(prefix + name, tensor);
  return found;
}

/// The readable part of fingerprints.
std::string without_hashes(std::string text) {
  constexpr std::string_view kHash = ", contents ";
  for (size_t begin = text.find(kHash); begin != std::string::npos; begin = text.find(kHash, begin))
    text.erase(begin, kHash.size() + 16);
  return excerpt(text);
}

/// A fact that is a finite number.
double finite(const Checkpoint& checkpoint, const std::string& fact) {
  const double value = checkpoint.number(fact);
  if (!std::isfinite(value))
    data_fail("{}: facts@{}: {}, expected a finite number", checkpoint.path, fact, value);
  return value;
}

}  // namespace

TrainingState::TrainingState(std::string program, nn::Module& model, optim::Optimizer& optimizer)
    : program_(std::move(program)), model_(model) {
  add([&model,
       prefix = take_finite("model")](Checkpoint& checkpoint) { put(checkpoint, prefix, model.state()); },
      [&model](const Checkpoint& checkpoint) { model.load_state(checkpoint.with_prefix("model.")); });
  add("optimizer", optimizer);
  add("generator", default_generator());
}

TrainingState& TrainingState::add(std::function<void(Checkpoint&)> save,
                                  std::function<void(const Checkpoint&)> load) {
  parts_.push_back({std::move(save), std::move(load)});
  return *this;
}

std::string TrainingState::take(const std::string& name) {
  ADJ_CHECK(!name.empty() && name.find_first_of("./") == std::string::npos,
            "training state: expected a name without '.' and '/', got '{}'", name);
  ADJ_CHECK(taken_.insert(name).second, "training state: two parts are named '{}'", name);
  return name + ".";
}

std::string TrainingState::take_finite(const std::string& name) {
  finite_.push_back(take(name));
  return finite_.back();
}

TrainingState& TrainingState::add(const std::string& name, optim::Optimizer& optimizer) {
  const std::string prefix = take_finite(name);
  return add([&optimizer, prefix](Checkpoint& checkpoint) { put(checkpoint, prefix, optimizer.state()); },
             [&optimizer, prefix](const Checkpoint& checkpoint) {
               optimizer.load_state(any_with_prefix(checkpoint, prefix));
             });
}

TrainingState& TrainingState::add(const std::string& name, Generator& generator) {
  const std::string prefix = take(name);
  return add(
      [&generator, prefix](Checkpoint& checkpoint) {
        checkpoint.set(prefix + "seed", static_cast<int64_t>(generator.seed()));
        checkpoint.set(prefix + "position", static_cast<int64_t>(generator.position()));
      },
      [&generator, prefix](const Checkpoint& checkpoint) {
        const int64_t seed = checkpoint.integer(prefix + "seed"),
                      position = checkpoint.integer(prefix + "position", 0, kMost);
        generator.set_state(static_cast<uint64_t>(seed), static_cast<uint64_t>(position));
      });
}

TrainingState& TrainingState::add(const std::string& name, optim::Plateau& plateau) {
  const std::string prefix = take(name);
  return add(
      [&plateau, prefix](Checkpoint& checkpoint) {
        const optim::Plateau::State& state = plateau.state();
        checkpoint.set(prefix + "any", int64_t{state.any});
        checkpoint.set(prefix + "best", state.best);
        checkpoint.set(prefix + "factor", state.factor);
        checkpoint.set(prefix + "bad", state.bad);
        checkpoint.set(prefix + "cooldown", state.cooldown);
      },
      [&plateau, prefix](const Checkpoint& checkpoint) {
        const double factor = finite(checkpoint, prefix + "factor");
        if (factor < 0.0 || factor > 1.0)
          data_fail("{}: facts@{}factor: {}, expected 0 to 1", checkpoint.path, prefix, factor);
        plateau.set_state({checkpoint.integer(prefix + "any", 0, 1) != 0, finite(checkpoint, prefix + "best"),
                           factor, checkpoint.integer(prefix + "bad", 0, kMost),
                           checkpoint.integer(prefix + "cooldown", 0, kMost)});
      });
}

TrainingState& TrainingState::add(optim::EarlyStopping& stopping) {
  return add(
      [&stopping, prefix = take_finite("best")](Checkpoint& checkpoint) {
        checkpoint.set("best_epoch", stopping.best_epoch());
        checkpoint.set("best_metric", stopping.best_metric());
        checkpoint.set("marks.epoch", stopping.marks().epoch);
        checkpoint.set("marks.metric", stopping.marks().metric);
        checkpoint.set("marks.loss", stopping.marks().loss);
        for (const auto& [name, tensor] : stopping.best_state()) checkpoint.tensors[prefix + name] = tensor;
      },
      [this, &stopping](const Checkpoint& checkpoint) {
        const int64_t epoch = checkpoint.integer("best_epoch", -1, checkpoint.integer("epoch"));
        auto best = any_with_prefix(checkpoint, "best.");
        if (epoch >= 0) model_.check_state(best);
        for (const auto& [name, parameter] : model_.state())
          if (const auto found = best.find(name); found != best.end())
            found->second = found->second.to(parameter.device());
        stopping.load(epoch, checkpoint.number("best_metric"), std::move(best),
                      {checkpoint.integer("marks.epoch", -1, checkpoint.integer("epoch")),
                       checkpoint.number("marks.metric"), checkpoint.number("marks.loss")});
      });
}

TrainingState& TrainingState::add(optim::MetricsFile& metrics) {
  const auto width = static_cast<int64_t>(metrics.columns().size());
  const std::string columns = fmt::format("{}", fmt::join(metrics.columns(), ","));
  require("metrics.columns", columns);
  (void)take("metrics");
  return add(
      [&metrics, width](Checkpoint& checkpoint) {
        const auto numbers = static_cast<int64_t>(metrics.rows().size());
        checkpoint.tensors["metrics"] = Tensor::from(metrics.rows(), {numbers / width, width});
      },
      [&metrics, width](const Checkpoint& checkpoint) {
        metrics.set_rows(checkpoint.table("metrics", width));
      });
}

TrainingState& TrainingState::require(std::string fact, std::string value,
                                      std::function<std::string(const Checkpoint&)> otherwise) {
  required_.push_back({std::move(fact), std::move(value), std::move(otherwise)});
  return *this;
}

TrainingState& TrainingState::require(const Dataset& data) { return require("dataset", fingerprint(data)); }

void TrainingState::save(const std::string& path, int64_t epoch) const {
  ADJ_CHECK(epoch >= 0, "training state: {}: expected an epoch of 0 or more, got {}", path, epoch);
  Checkpoint checkpoint;
  checkpoint.program = program_;
  checkpoint.set("epoch", epoch);
  for (const Part& part : parts_) part.save(checkpoint);
  for (const auto& [fact, value, otherwise] : required_)
    ADJ_CHECK(checkpoint.facts.emplace(fact, value).second, "training state: two facts are named '{}'", fact);
  if (const std::string name = optim::first_not_finite(with_prefixes(checkpoint, finite_)); !name.empty()) {
    optim::require_finite(model_, fmt::format("epoch {}: {} is not written", epoch, path));
    fail("epoch {}: {} is not written: {} is not finite", epoch, path, name);
  }
  models::save_checkpoint(checkpoint, path);
}

int64_t TrainingState::resume(const std::string& path) {
  const Checkpoint checkpoint = models::load_checkpoint(path, program_);
  for (const auto& [fact, value, otherwise] : required_) {
    const auto stored = checkpoint.facts.find(fact);
    if (stored == checkpoint.facts.end() && !otherwise)
      data_fail("{}: facts@{}: missing, expected '{}'", path, fact, value);
    const std::string found = stored == checkpoint.facts.end() ? otherwise(checkpoint) : stored->second;
    if (found != value && fact.starts_with(kOption))
      data_fail("{} was trained with --{} {}; this run has {}", path, fact.substr(kOption.size()),
                excerpt(found), value);
    if (found != value && fact == "dataset")
      data_fail("{} was trained on another dataset: {}; this run has {}, expected the same --data", path,
                without_hashes(found),
                without_hashes(found) == without_hashes(value) ? "one with other contents or splits"
                                                               : without_hashes(value));
    if (found != value)
      data_fail("{}: facts@{}: '{}', but this training has '{}'", path, fact, excerpt(found), value);
  }
  const int64_t epoch = checkpoint.integer("epoch", 0, kMost);
  if (const std::string name = optim::first_not_finite(with_prefixes(checkpoint, finite_)); !name.empty())
    data_fail("{}: tensors/{}: not finite", path, excerpt(name));

  Checkpoint before;  // for rollback: each part checks only itself, so a later one may still throw
  before.set("epoch", kMost);
  for (const Part& part : parts_) part.save(before);
  for (auto& [name, tensor] : before.tensors) tensor = tensor.clone();
  try {
    for (const Part& part : parts_) part.load(checkpoint);
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const Part& part : parts_) part.load(before);
    if (dynamic_cast<const DataError*>(&error) != nullptr) throw;
    data_fail("{}: {}", path, message);
  }
  return epoch;
}

int64_t TrainingState::resume_if_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ? resume(path) : 0;
}

}  // namespace adj::training
