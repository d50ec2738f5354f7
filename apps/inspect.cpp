// Reports the contents of a dataset and everything that is wrong with it.

#include "common/command_line.h"
#include "inspect/report.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/file.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/data/hdf5_file.h>

#include <filesystem>

#include <fmt/format.h>

using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string file, plot;
  bool json = false, tiles = false;
  int64_t threads = 0;
};

constexpr const char* kUsage = "inspect FILE.h5 [OPTION]...";

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  if (!read_options(
          argc, argv,
          table_of({{"file", &o.file, "FILE", "the HDF5 file to read, also as first argument"},
                    {"plot", &o.plot, "FILE", "draw the distribution of degrees, FILE.svg"},
                    {"tiles", &o.tiles, "", "count how the edges fill row windows and tiles of the matrix"},
                    {"json", &o.json, "", "print one JSON object instead"},
                    threads_option(o.threads)}),
          {"file"}, kUsage,
          "Prints the contents and all errors of a dataset; exits with 1 if there are errors."))
    return false;
  if (o.file.empty()) usage_fail("expected {}", kUsage);
  if (!o.plot.empty() && !o.plot.ends_with(".svg")) usage_fail("--plot: expected FILE.svg, got '{}'", o.plot);
  use_threads(o.threads);
  return true;
}

/// Optional node data of the schema other than features and labels, if readable.
std::vector<std::string> extras_of(const std::string& path) {
  std::vector<std::string> extras;
  const H5Reader file = H5Reader::open(path, {"nodes/id", "nodes/name", "nodes/name_offsets", "nodes/order"});
  for (const std::string& name : file.children("nodes")) {
    const std::string place = "nodes/" + name;
    try {
      extras.push_back(
          fmt::format("{} {} [{}]", place, name_of(file.dtype(place)), fmt::join(file.shape(place), ", ")));
    } catch (const DataError& error) {
      extras.emplace_back(error.what());
    }
  }
  return extras;
}

void fail_for(const std::vector<std::string>& problems, const std::string& path) {
  const size_t wrong = problems.size();
  if (wrong > 0) data_fail("{}: {} error{}", excerpt(path), wrong, wrong == 1 ? "" : "s");
}

void inspect_typed(const Options& o) {
  if (!o.plot.empty() || o.tiles)
    usage_fail("--plot, --tiles: {} has several types, expected a graph of one (convert typed takes one)",
               excerpt(o.file));
  const CheckedTypedDataset checked = check_typed_dataset(o.file);
  o.json ? print_json(o.file, checked) : print_text(o.file, checked);
  fail_for(checked.problems, o.file);
}

/// Whether the file says that it has several types; what cannot be read is reported as a graph.
bool has_types(const std::string& path) {
  try {
    return is_typed_dataset(path);
  } catch (const DataError&) {
    return false;
  }
}

void inspect(const Options& o) {
  RunFiles files;
  files.read("file", o.file);
  files.write("plot", o.plot);
  if (has_types(o.file)) return inspect_typed(o);
  Report report{
      .path = o.file, .checked = check_dataset(o.file), .statistics = {}, .extras = {}, .notes = {}};
  if (!o.json && !std::filesystem::exists(o.file)) data_fail("{}", report.checked.problems.at(0));
  report.statistics = statistics_of(report.checked.data);
  if (o.tiles && report.statistics.structure)
    report.statistics.tiles = tiles_of(report.checked.data.graph.in_edges());
  if (report.checked.opened) {
    report.extras = extras_of(o.file);
    report.notes = notes_of(o.file, report.checked.data, report.statistics);
  }
  o.json ? print_json(report) : print_text(report);
  if (!o.plot.empty() && report.statistics.structure)
    replace_file(o.plot, svg(degree_chart(report.checked.data.name, *report.statistics.structure)));
  fail_for(report.checked.problems, o.file);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("inspect", [&] {
    if (Options o; read(argc, argv, o)) inspect(o);
  });
}
