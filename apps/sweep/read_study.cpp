#include "reading.h"
#include <adjoint/core/choice.h>
#include <adjoint/core/device.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

using training::SearchMethod;
using File = adj::detail::YamlFile;

const std::vector<std::string> kKeys{"program", "folder",    "method",     "trials",     "runs",
                                     "seed",    "startup",   "generation", "min-epochs", "reduction",
                                     "jobs",    "threads",   "devices",    "timeout",    "objective",
                                     "options", "parameters"};

/// The integer under `key`, or what it is without one.
int64_t integer(const File& file, const std::string& key, int64_t without, int64_t low, int64_t high) {
  const YAML::Node node = file.root()[key];
  if (!node) return without;
  const std::string text = text_at(file, node, key);
  const auto value = number_in<int64_t>(text);
  if (!value || *value < low || *value > high)
    file.fail(node.Mark(), "{}: expected an integer from {} to {}, got {}", key, low, high, text);
  return *value;
}

void check_keys(const File& file) {
  file.expect_map(file.root(), "program, method and parameters");
  for (const auto& entry : file.root()) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::ranges::find(kKeys, key) == kKeys.end())
      file.fail(entry.first.Mark(), "{}: expected {}{}", key, fmt::join(kKeys, ", "),
                did_you_mean(key, kKeys));
  }
  for (const char* key : {"program", "method", "parameters"})
    if (!file.root()[key]) file.fail(file.root().Mark(), "the key {} is missing", key);
}

/// Refuses keys of another method.
void check_method(const File& file, SearchMethod method) {
  using enum SearchMethod;
  const std::pair<const char*, std::vector<SearchMethod>> uses[] = {
      {"trials", {random, tpe, asha}}, {"startup", {tpe}},    {"generation", {tpe, asha}},
      {"min-epochs", {asha}},          {"reduction", {asha}}, {"seed", {random, tpe, asha}}};
  for (const auto& [key, methods] : uses)
    if (const YAML::Node node = file.root()[key]; node && std::ranges::find(methods, method) == methods.end())
      file.fail(node.Mark(), "{}: method {} has none", key, name_of(method));
  for (const char* key : {"trials", "min-epochs"})
    if (!file.root()[key] && (key[0] == 't' ? method != grid : method == asha))
      file.fail(file.root().Mark(), "the key {} is missing, which method {} needs", key, name_of(method));
}

void read_devices(const File& file, Study& study) {
  const YAML::Node node = file.root()["devices"];
  if (!node) return;
  if (!node.IsSequence() || node.size() == 0)
    file.fail(node.Mark(), "devices: expected a list, as [cuda:0, cuda:1]");
  std::set<bool> kinds;
  for (const YAML::Node& one : node) {
    study.devices.push_back(text_at(file, one, "devices"));
    try {
      kinds.insert(Device::parse(study.devices.back()).is_cuda());
    } catch (const Error& error) {
      file.fail(one.Mark(), "devices: {}", error.what());
    }
  }
  if (kinds.size() > 1) file.fail(node.Mark(), "devices: cpu and cuda give other bits, expected one kind");
}

/// --epochs after each rung: min, min reduction, …, and at last those of the options.
void read_rungs(const File& file, Study& study) {
  if (study.search.method != SearchMethod::asha) return;
  const YAML::Node key = file.root()["min-epochs"];
  const auto option = [&](const std::string& name) {
    const auto found = std::ranges::find(study.options, name, [](const auto& one) { return one.first; });
    return found == study.options.end() ? "" : found->second;
  };
  const int64_t most = number_in<int64_t>(option("epochs")).value_or(0);
  if (most < 1) file.fail(key.Mark(), "method asha: expected options with epochs: N, the most of a trial");
  const int64_t least = integer(file, "min-epochs", 1, 1, most);
  const auto reduction = static_cast<int64_t>(study.search.reduction);
  for (int64_t epochs = least; epochs < most; epochs *= reduction) study.rung_epochs.push_back(epochs);
  study.rung_epochs.push_back(most);
  study.search.rungs = study.rung_epochs.size();
  if (study.search.rungs < 2) file.fail(key.Mark(), "min-epochs: expected fewer than epochs, {}", most);
  if (integer(file, "runs", 1, 1, 1'000'000) != 1)
    file.fail(file.root()["runs"].Mark(), "runs: method asha has one, as trainings are continued");
}

}  // namespace

Study read_study(const std::string& path) {
  return adj::detail::with_yaml(path, [](const File& file) {
    check_keys(file);
    const YAML::Node& root = file.root();
    Study study;
    study.path = file.path();
    study.program = text_at(file, root["program"], "program");
    if (!study.program.starts_with("train_"))
      file.fail(root["program"].Mark(), "program: expected a train_NAME, got {}", study.program);
    try {
      (void)path_of_program(study.program);
    } catch (const Error& error) {
      file.fail(root["program"].Mark(), "program: {}", error.what());
    }
    study.folder = root["folder"] ? text_at(file, root["folder"], "folder")
                                  : std::filesystem::path(file.path()).replace_extension().string();
    if (study.folder == file.path())
      file.fail(root.Mark(), "the key folder is missing, as the file's name has no .yaml");
    const std::string method = text_at(file, root["method"], "method");
    const auto known = value_named<SearchMethod>(method);
    if (!known) {
      std::vector<std::string> names;
      for (const char* name : names_of(SearchMethod{})) names.emplace_back(name);
      file.fail(root["method"].Mark(), "method: expected {}, got {}{}", fmt::join(names, ", "), method,
                did_you_mean(method, names));
    }
    check_method(file, *known);
    training::Search& search = study.search;
    search.method = *known;
    search.trials = static_cast<size_t>(integer(file, "trials", 0, 1, kMostTrials));
    search.seed = static_cast<uint64_t>(integer(file, "seed", 0, 0, std::numeric_limits<int64_t>::max()));
    search.startup = static_cast<size_t>(integer(file, "startup", 10, 1, kMostTrials));
    search.generation = static_cast<size_t>(integer(file, "generation", 8, 1, 10'000));
    search.reduction = static_cast<size_t>(integer(file, "reduction", 3, 2, 1000));
    study.jobs = integer(file, "jobs", 0, 1, 10'000);
    study.threads = integer(file, "threads", 0, 1, kMaxThreads);
    if (root["timeout"]) {
      const auto seconds = number_in<double>(text_at(file, root["timeout"], "timeout"));
      if (!seconds || !(*seconds > 0.0 && *seconds < 1e9))
        file.fail(root["timeout"].Mark(), "timeout: expected seconds above 0, got {}",
                  root["timeout"].Scalar());
      study.timeout = *seconds;
    }
    if (root["objective"]) {
      study.objective = text_at(file, root["objective"], "objective");
      if (!study.objective.starts_with("val_") || study.objective.ends_with("_std"))
        file.fail(root["objective"].Mark(),
                  "objective: expected a result of the validation, as val_acc or val_loss, got {}",
                  study.objective);
    }
    read_options(file, study);
    read_devices(file, study);
    read_parameters(file, study);
    read_rungs(file, study);
    if (const int64_t runs = integer(file, "runs", 1, 1, 1'000'000); runs != 1) {
      study.options.emplace_back("runs", fmt::format("{}", runs));
      study.lines.emplace_back("runs", root["runs"].Mark().line + 1);
    }
    if (search.method == SearchMethod::grid) search.trials = training::grid_of(search.space).size();
    return study;
  });
}

}  // namespace adj::apps
