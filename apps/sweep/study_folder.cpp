#include "study_folder.h"

#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>
#include <adjoint/training/run_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

namespace adj::apps {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using training::Assignment;

/// The JSON object in a file; null without a file. Throws DataError.
Json read_object(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) data_fail("{}: damaged, expected a file written by sweep", path);
  return json;
}

void write_object(const std::string& path, const Json& json) {
  replace_file(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Waits for a training in the folder that a killed study left, and that ends with it.
void await_end(const std::string& folder) {
  for (int k = 0; fs::exists(folder); ++k) try {
      (void)training::lock_run_folder(folder);
      return;
    } catch (const DataError&) {
      if (k == 100) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace

StudyFolder::StudyFolder(const Study& study) : study_(study) {
  const std::string path = (fs::path(study.folder) / "study.json").string();
  std::error_code error;
  fs::create_directories(study.folder, error);
  if (error) data_fail("{}: {}", study.folder, error.message());
  lock_ = training::lock_run_folder(study.folder);
  Json json;
  for (const auto& [name, value] : study.identity()) json[name] = value;
  const Json before = read_object(path);
  if (before.is_null()) {
    for (const auto& entry : fs::directory_iterator(study.folder))
      if (!entry.path().filename().string().ends_with(".tmp"))
        data_fail("{}: holds {}, expected a new folder, or that of a study", study.folder,
                  excerpt(entry.path().filename().string()));
    write_object(path, json);
    return;
  }
  Json names = json;
  names.update(before);
  for (const auto& entry : names.items()) {
    const std::string& name = entry.key();
    const auto shown = [&](const Json& all) { return all.contains(name) ? all[name].dump() : "none"; };
    if (shown(json) != shown(before))
      data_fail("{}: {} was {} when this study began, now {}; expected the same, or another folder", path,
                excerpt(name), excerpt(shown(before)), excerpt(shown(json)));
  }
}

std::string StudyFolder::trial(size_t number) const {
  return (fs::path(study_.folder) / fmt::format("trial-{:04}", number)).string();
}
std::string StudyFolder::record(size_t number) const { return trial(number) + ".json"; }

std::optional<TrialResult> StudyFolder::result(size_t number, size_t rung, const Assignment& values) const {
  const std::string path = record(number);
  if (const Json json = read_object(path); !json.is_null()) try {
      if (json.at("rungs").size() > rung) return result_of(json["rungs"][rung]);
    } catch (const Json::exception&) {
      data_fail("{}: damaged, expected a file written by sweep", path);
    }
  const std::string folder = trial(number);
  if (!fs::exists(fs::path(folder) / "run.json")) return {};
  if (text_of((fs::path(folder) / "options.yaml").string()) != study_.config(values, rung)) return {};
  await_end(folder);
  const training::RunSummary run = training::read_run(folder);
  const auto epochs = run.options.find("epochs");
  const bool same_rung =
      study_.rung_epochs.empty() ||
      (epochs != run.options.end() && epochs->second == fmt::format("{}", study_.rung_epochs[rung]));
  if (!run.finished || !same_rung) return {};
  const TrialResult found = read_result(study_, trial(number), rung);
  write(number, rung, values, found);
  return found;
}

pid_t StudyFolder::start(size_t number, size_t rung, const Assignment& values, size_t slot) const {
  const std::string folder = trial(number), checkpoint = (fs::path(folder) / "checkpoint.h5").string(),
                    config = (fs::path(folder) / "options.yaml").string();
  await_end(folder);
  // Without a checkpoint nothing is to be continued.
  const bool continued = fs::exists(fs::path(folder) / "run.json") && fs::exists(checkpoint);
  if (!continued) fs::remove_all(folder);
  fs::create_directories(folder);
  replace_file(config, study_.config(values, rung));
  const auto threads = study_.threads > 0
                           ? study_.threads
                           : std::max<int64_t>(1, num_threads() / static_cast<int64_t>(study_.slots()));
  std::vector<std::string> words{"--config", config,      "--run-dir",
                                 folder,     "--threads", fmt::format("{}", threads)};
  if (!study_.devices.empty())
    words.insert(words.end(), {"--device", study_.devices[slot % study_.devices.size()]});
  if (continued) words.insert(words.end(), {"--resume", checkpoint});
  return start_process(path_of_program(study_.program), words, (fs::path(folder) / "output.txt").string());
}

TrialResult StudyFolder::ended(size_t number, size_t rung, const ProcessEnd& end) const {
  const std::string log = (fs::path(trial(number)) / "output.txt").string();
  std::string failure = failure_of(end, study_.program, log);
  if (failure.empty()) return read_result(study_, trial(number), rung);
  if (end.timed_out) failure = fmt::format("timed out after {} s", study_.timeout);
  return {.message = std::move(failure), .epochs = study_.rung_epochs.empty() ? 0 : study_.rung_epochs[rung]};
}

void StudyFolder::write(size_t number, size_t rung, const Assignment& values,
                        const TrialResult& result) const {
  Json json = read_object(record(number));
  if (json.is_null()) {
    json = {{"trial", number}, {"options", Json::object()}, {"rungs", Json::array()}};
    for (size_t k = 0; k < values.size(); ++k)
      if (values[k]) json["options"][study_.search.space[k].name] = study_.search.space[k].text(*values[k]);
  }
  if (json["rungs"].size() != rung) fail("{}: expected {} rungs", record(number), rung);
  json["rungs"].push_back(json_of(result));
  write_object(record(number), json);
}

}  // namespace adj::apps
