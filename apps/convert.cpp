// Writes datasets of other tools' formats in Adjoint's HDF5 schema.

#include "common/command_line.h"
#include "common/summary.h"
#include "convert/formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/allocator.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>

#include <chrono>
#include <filesystem>

using namespace adj;
using namespace adj::apps;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string input, out, name;
  int64_t gzip = 0, threads = 0;
  bool quiet = false;
};

constexpr const char* kUsage = "convert FORMAT INPUT OUT.h5 [OPTION]...";

/// The values of all options but FORMAT. False if --help was asked for.
bool read(int argc, char** argv, const Format& format, Options& o) {
  po::options_description all, general("Options");
  general.add_options()("input", po::value(&o.input)->value_name("PATH"),
                        "what is read, also as second argument")(
      "out", po::value(&o.out)->value_name("FILE"),
      "the HDF5 file to write, also as third argument; what stands there is replaced")(
      "name", po::value(&o.name)->value_name("NAME"), "of the dataset (default: the input's)")(
      "gzip", with_default(o.gzip), "compression, 0 (none) to 9")(
      "threads", with_default(o.threads), "CPU threads (0: all)")("quiet", po::bool_switch(&o.quiet),
                                                                  "no progress")("help", "print this");
  all.add(format.options).add(general);
  po::positional_options_description positional;
  positional.add("input", 1).add("out", 1);
  if (!read_options(argc, argv, all, positional,
                    fmt::format("convert {} INPUT OUT.h5 [OPTION]...", format.name),
                    fmt::format("Reads {}.", format.summary)))
    return false;
  if (o.input.empty() || o.out.empty())
    throw UsageError(fmt::format("expected what to read and the file to write: {}", kUsage));
  expect_integer("gzip", o.gzip, 0, 9);
  expect_integer("threads", o.threads, 0, kMaxThreads);
  return true;
}

/// "web-Google" of "data/web-Google.txt.gz".
std::string name_of_input(const std::string& input) {
  std::filesystem::path path(input);
  if (!path.has_filename()) path = path.parent_path();
  const std::string file = path.filename().string();
  return file.substr(0, std::max<size_t>(file.find('.'), 1));
}

/// The summary sorts the edges, which takes more than reading them did. Of the features, which are in the
/// file by now, it says how many there are.
void release_features(Dataset& data) {
  if (!data.x || data.x.is_sparse()) return;
  data.x = Features(Tensor::empty({0, data.num_features()}));
  empty_cache(Device::cpu());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void convert(int argc, char** argv) {
  if (argc < 2) throw UsageError(fmt::format("expected {}", kUsage));
  if (const std::string_view word = argv[1]; word == "--help" || word == "-h") {
    fmt::print(
        "Usage: {}\nReads a dataset of another format and writes it as HDF5.\n\nFORMAT is one of {}.\nIts "
        "options: "
        "convert FORMAT --help\n",
        kUsage, format_names());
    return;
  }
  const Format format = format_named(argv[1]);
  Options o;
  if (!read(argc - 1, argv + 1, format, o)) return;
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  if (o.quiet) set_log_level(LogLevel::warning);
  RunFiles files;
  files.read("input", o.input);
  for (const auto& [option, path] : format.files()) files.read(option, path);
  files.write("out", o.out);

  const auto start = std::chrono::steady_clock::now();
  Dataset data = format.import(o.input);
  if (!o.name.empty() || data.name.empty()) data.name = o.name.empty() ? name_of_input(o.input) : o.name;
  const double read_s = seconds_since(start);
  const auto written = std::chrono::steady_clock::now();
  save_dataset(data, o.out, static_cast<int>(o.gzip));
  const double written_s = seconds_since(written);
  release_features(data);
  print_summary(o.out, data);
  for (const std::string& note : format.notes()) fmt::print("{}\n", note);
  fmt::print("read in {:.2f} s, written in {:.2f} s\n", read_s, written_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("convert", [&] { convert(argc, argv); });
}
