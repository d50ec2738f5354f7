#include "run_folder.h"

#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace adj::training {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kRun = "run.json";

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Bytes that are not UTF-8 become U+FFFD: names of files may have them.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string RunSummary::result_named(const std::string& name) const {
  for (const auto& [key, value] : results)
    if (key == name) return value;
  return "";
}

void make_run_folder(const std::string& folder, bool again) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) data_fail("{}: {}", folder, error.message());
  if (!again && fs::exists(fs::path(folder) / kRun))
    data_fail("{}: holds a run already, expected another folder, or --resume to go on from its checkpoint",
              folder);
}

void write_run(const std::string& folder, const RunSummary& run) {
  const Json json{{"program", run.program}, {"version", run.version}, {"isa", run.isa},
                  {"device", run.device},   {"options", run.options}, {"result", Json::parse(run.result)}};
  replace_file((fs::path(folder) / kRun).string(), written(json));
}

RunSummary read_run(const std::string& folder) {
  const std::string path = (fs::path(folder) / kRun).string();
  std::ifstream file(path, std::ios::binary);
  if (!file) data_fail("{}: cannot be read, expected the folder of a run (--run-dir)", path);
  try {
    const Json json = Json::parse(file);
    RunSummary run;
    for (const auto& [name, text] : {std::pair("program", &run.program),
                                     {"version", &run.version},
                                     {"isa", &run.isa},
                                     {"device", &run.device}})
      *text = json.at(name).get<std::string>();
    run.options = json.at("options").get<std::map<std::string, std::string>>();
    run.result = json.at("result").dump();
    for (const auto& [name, value] : json.at("result").items())
      if (value.is_primitive()) run.results.emplace_back(name, text_of(value));
    return run;
  } catch (const Json::exception& error) {
    data_fail("{}: {}", path, excerpt(error.what()));
  }
}

}  // namespace adj::training
