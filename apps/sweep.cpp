// Searches options of a training program, as a YAML file says: grid, random, TPE or successive halving.

#include "common/command_line.h"
#include "sweep/study_run.h"
#include <adjoint/adjoint.h>

#include <filesystem>

using namespace adj;
using namespace adj::apps;

int main(int argc, char** argv) {
  return run_program("sweep", [&] {
    std::string path;
    int64_t jobs = 0;
    bool check = false, quiet = false;
    if (!read_options(argc, argv,
                      table_of({{"study", &path, "FILE.yaml", "the study, also as argument"},
                                {"jobs", &jobs, "N", "trainings in parallel (0: as the study says)", true,
                                 IntegerRange{0, 10'000}},
                                {"check", &check, "", "check the study, and train nothing"},
                                {"quiet", &quiet, "", "no progress"}}),
                      {"study"}, "sweep STUDY.yaml [OPTION]...",
                      "Searches options of a training program, and continues a search that was interrupted."))
      return;
    if (path.empty()) usage_fail("expected sweep STUDY.yaml");
    if (launch().ranks > 1) usage_fail("{} processes were started together, expected one", launch().ranks);
    if (quiet) set_log_level(LogLevel::warning);
    Study study = read_study(path);
    if (jobs > 0) study.jobs = jobs;
    try {
      const bool begun = std::filesystem::exists(std::filesystem::path(study.folder) / "study.json");
      if (check || !begun) check_options(study);
      if (check) return;
      StudyRun run(study);
      run.finish();
      report(study, run);
    } catch (Interrupted& interrupted) {
      interrupted.message = fmt::format("interrupted; sweep {} continues", printable(path));
      throw;
    }
  });
}
