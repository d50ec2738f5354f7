#include "process.h"
#include "study.h"
#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

namespace adj::apps {

namespace {

namespace fs = std::filesystem;
using training::Assignment;
using training::Parameter;

/// A folder of its own, removed at the end.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "sweep-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("{}: cannot be made", name);
    path = name;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

/// Choices of earlier parameters, by which parameter k is active.
void require_active(const std::vector<Parameter>& space, size_t k, Assignment& required) {
  for (const Parameter::Condition& condition : space[k].when) {
    if (!required[condition.parameter])
      required[condition.parameter] = static_cast<double>(condition.choices[0]);
    require_active(space, condition.parameter, required);
  }
}

/// Values of all active parameters: `required` ones, or the first.
Assignment completed(const std::vector<Parameter>& space, const Assignment& required) {
  Assignment values(space.size());
  for (size_t k = 0; k < space.size(); ++k)
    if (training::is_active(space, values, k))
      values[k] = required[k].value_or(space[k].kind == Parameter::Kind::choice ? 0.0 : space[k].low);
  return values;
}

/// Trials that together have every choice and every end of a range.
std::vector<Assignment> probes_of(const std::vector<Parameter>& space) {
  std::vector<Assignment> probes{completed(space, Assignment(space.size()))};
  for (size_t k = 0; k < space.size(); ++k) {
    const auto add = [&](double value) {
      Assignment required(space.size());
      required[k] = value;
      require_active(space, k, required);
      probes.push_back(completed(space, required));
    };
    if (space[k].kind == Parameter::Kind::choice)
      for (size_t choice = 0; choice < space[k].choices.size(); ++choice) add(static_cast<double>(choice));
    else
      add(space[k].low), add(space[k].high);
  }
  return probes;
}

/// A message about the config file's line, as one about the study's.
std::string with_place(const Study& study, std::string message, const std::string& config,
                       const std::vector<std::pair<std::string, std::string>>& options) {
  const std::string place = config + ":";
  std::string name;
  if (message.starts_with(place)) {
    const size_t end = message.find(": ");
    const auto line = number_in<size_t>(message.substr(place.size(), end - place.size())).value_or(0);
    if (line >= 1 && line <= options.size()) name = options[line - 1].first;
    message = message.substr(end + 2);
  } else if (message.starts_with("--")) {
    name = message.substr(2, message.find_first_of(": ", 2) - 2);
  }
  if (const size_t hint = message.rfind(" (see --help)"); hint != std::string::npos) message.resize(hint);
  for (const auto& [option, line] : study.lines)
    if (option == name) return fmt::format("{}:{}: {}: {}", study.path, line, study.program, message);
  return fmt::format("{}: {}: {}", study.path, study.program, message);
}

/// Rungs are those of one training only if nothing in it depends on its last epoch.
void check_rungs(const Study& study, const nlohmann::json& options) {
  if (study.rung_epochs.empty()) return;
  if (const auto schedule = options.value("schedule", ""); schedule == "cosine" || schedule == "linear")
    data_fail("{}: method asha: conflicts with --schedule {}, which depends on the last epoch", study.path,
              schedule);
  const auto every = options.value("eval-every", int64_t{1});
  for (const int64_t epochs : study.rung_epochs)
    if (epochs % every != 0)
      data_fail("{}: method asha: a rung has {} epochs, expected a multiple of --eval-every {}", study.path,
                epochs, every);
}

}  // namespace

void check_options(const Study& study) {
  const Scratch scratch;
  const std::string config = (scratch.path / "options.yaml").string(), log = (scratch.path / "log").string();
  for (const Assignment& values : probes_of(study.search.space)) {
    const size_t rung = study.search.rungs - 1;
    replace_file(config, study.config(values, rung));
    std::string failure;
    run_processes(
        1, 1, 0.0,
        [&](size_t, size_t) {
          return start_process(path_of_program(study.program),
                               {"--config", config, "--check", "--threads", "1"}, log);
        },
        [&](size_t, const ProcessEnd& end) { failure = failure_of(end, study.program, log); });
    if (!failure.empty()) data_fail("{}", with_place(study, failure, config, study.options_of(values, rung)));
    std::ifstream file(log);
    std::string last;
    for (std::string line; std::getline(file, line);)
      if (line.starts_with('{')) last = line;
    check_rungs(study, nlohmann::json::parse(last, nullptr, false));
  }
}

}  // namespace adj::apps
