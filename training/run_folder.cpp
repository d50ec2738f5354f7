#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/training/run_folder.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

namespace adj::training {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kRun = "run.json";
constexpr const char* kCheckpoint = "checkpoint.h5";

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Bytes that are not UTF-8 become U+FFFD: names of files may have them.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const RunSummary& run) {
  Json json{{"program", run.program},
            {"version", run.version},
            {"isa", run.isa},
            {"device", run.device},
            {"finished", run.finished},
            {"options", run.options},
            {"result", Json::parse(run.result)}};
  if (!run.data.empty()) json["data"] = run.data;
  if (!run.validation.empty()) json["validation"] = run.validation;
  return json;
}

/// The checkpoint of the run in a folder, which --checkpoint may have put elsewhere.
std::string checkpoint_of(const fs::path& folder) {
  if (fs::exists(folder / kRun))
    if (const std::string path = read_run(folder.string()).options["checkpoint"]; !path.empty()) return path;
  return (folder / kCheckpoint).string();
}

bool continues(const std::string& folder, const std::string& resumed) {
  std::error_code error;  // of a file that does not exist
  return !resumed.empty() && fs::equivalent(resumed, checkpoint_of(folder), error);
}

}  // namespace

std::string RunSummary::result_named(const std::string& name) const {
  for (const auto& [key, value] : results)
    if (key == name) return value;
  return "";
}

void make_run_folder(const std::string& folder, const std::string& resumed) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) data_fail("{}: {}", folder, error.message());
  if (continues(folder, resumed)) return;
  for (const char* file : {kRun, kCheckpoint, "metrics.csv", "report.html", "trace.json"})
    if (fs::exists(fs::path(folder) / file)) {
      const std::string checkpoint = checkpoint_of(folder);
      data_fail("{}: already holds a run, expected another folder{}", folder,
                fs::exists(checkpoint) ? fmt::format(", or --resume {} to continue it", checkpoint) : "");
    }
}

std::shared_ptr<const void> reserve_run_folder(const std::string& folder, const std::string& resumed) {
  std::error_code error;
  const bool is_new = !fs::exists(folder, error);
  make_run_folder(folder, resumed);
  if (!is_new) return nullptr;
  return {nullptr, [folder](const void*) {
            std::error_code has_files;
            fs::remove(folder, has_files);
          }};
}

std::shared_ptr<const void> lock_run_folder(const std::string& folder) {
  // On the folder, as run.json is replaced. A file system without locks has none.
  const auto lock =
      std::make_shared<const detail::Descriptor>(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    data_fail("{}: another training runs in this folder", folder);
  return lock;
}

void begin_run(const std::string& folder, RunSummary run, const std::string& resumed) {
  run.finished = false;
  if (continues(folder, resumed)) return write_run(folder, run);
  const std::string path = (fs::path(folder) / kRun).string();
  if (!create_file(path, written(json_of(run))))  // of two runs, one gets the folder
    data_fail("{}: another run began in this folder meanwhile", path);
}

void write_run(const std::string& folder, const RunSummary& run) {
  replace_file((fs::path(folder) / kRun).string(), written(json_of(run)));
}

bool names_run_file(const std::string& option) {
  static const std::set<std::string> kNames{"run-dir",         "metrics",
                                            "checkpoint",      "checkpoint-every",
                                            "report",          "html" /* now report */,
                                            "tensorboard",     "trace",
                                            "predict",         "plot",
                                            "resume",          "config",
                                            "embeddings",      "relation-embeddings",
                                            "item-embeddings", "out"};
  return kNames.contains(option);
}

RunSummary read_run(const std::string& folder) {
  const std::string path = (fs::path(folder) / kRun).string();
  std::ifstream file(path, std::ios::binary);
  if (!file) data_fail("{}: cannot be read, expected the folder of a run (--run-dir)", path);
  return parse_run({std::istreambuf_iterator<char>(file), {}}, path);
}

RunSummary parse_run(const std::string& text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
    RunSummary run;
    for (const auto& [name, text] : {std::pair("program", &run.program),
                                     {"version", &run.version},
                                     {"isa", &run.isa},
                                     {"device", &run.device}})
      *text = json.at(name).get<std::string>();
    run.finished = json.value("finished", true);    // older files are of finished runs,
    run.data = json.value("data", "");              // and do not tell the data,
    run.validation = json.value("validation", "");  // nor what they are validated on
    run.options = json.at("options").get<std::map<std::string, std::string>>();
    run.result = json.at("result").dump();
    for (const auto& [name, value] : json.at("result").items())
      if (value.is_primitive()) run.results.emplace_back(name, text_of(value));
    return run;
  } catch (const Json::exception&) {
    data_fail("{}: damaged, expected a file written by --run-dir", path);
  }
}

}  // namespace adj::training
