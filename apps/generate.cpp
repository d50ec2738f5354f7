// Writes a generated dataset in Adjoint's HDF5 schema. data/demo.h5 is `generate citation data/demo.h5 --name
// demo --gzip 9`.

#include "common/command_line.h"
#include "common/summary.h"
#include "generate/specs.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>

#include <chrono>

using namespace adj;
using namespace adj::apps;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string out, name;
  int64_t seed = 1, gzip = 0, threads = 0;
};

constexpr const char* kUsage = "generate SPEC OUT.h5 [OPTION]...";
constexpr int64_t kLarge = 10'000'000;  // edges, from which on a line says what is being done

bool wants_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// The values of all options but SPEC. False if --help was asked for.
bool read(int argc, char** argv, const Spec& spec, Options& o) {
  po::options_description all, general("Options");
  general.add_options()("out", po::value(&o.out)->value_name("FILE"),
                        "the HDF5 file to write, also as second argument; what stands there is replaced")(
      "name", po::value(&o.name)->value_name("NAME"), "of the dataset")(
      "seed", with_default(o.seed), "of all that is drawn")("gzip", with_default(o.gzip),
                                                            "compression, 0 (none) to 9")(
      "threads", with_default(o.threads), "CPU threads (0: all)")("help", "print this");
  all.add(spec.options).add(general);
  po::positional_options_description positional;
  positional.add("out", 1);
  if (!read_options(argc, argv, all, positional, fmt::format("generate {} OUT.h5 [OPTION]...", spec.name),
                    fmt::format("Writes {}.", spec.summary)))
    return false;
  if (o.out.empty()) throw UsageError(fmt::format("expected the file to write: {}", kUsage));
  expect_integer("gzip", o.gzip, 0, 9);
  expect_integer("threads", o.threads, 0, kMaxThreads);
  if (o.seed < 0) throw UsageError("--seed: expected 0 or more");
  return true;
}

Dataset make(const Spec& spec, const Options& o) {
  try {
    Dataset data = spec.make(static_cast<uint64_t>(o.seed));
    if (!o.name.empty()) data.name = o.name;
    return data;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());  // options out of range or that contradict each other
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void generate(int argc, char** argv) {
  if (argc < 2) throw UsageError(fmt::format("expected {}", kUsage));
  if (wants_help(argv[1])) {
    fmt::print(
        "Usage: {}\nWrites a generated dataset as HDF5.\n\nSPEC is one of {}.\nIts options: generate SPEC "
        "--help\n",
        kUsage, spec_names());
    return;
  }
  const Spec spec = spec_named(argv[1]);
  Options o;
  if (!read(argc - 1, argv + 1, spec, o)) return;
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  RunFiles().write("out", o.out);

  const auto start = std::chrono::steady_clock::now();
  const Dataset data = make(spec, o);
  const double drawn_s = seconds_since(start);
  if (data.graph.num_edges() >= kLarge)
    log_info("{}: {} edges made in {:.1f} s, writing", spec.name, data.graph.num_edges(), drawn_s);
  const auto written = std::chrono::steady_clock::now();
  save_dataset(data, o.out, static_cast<int>(o.gzip));
  const double written_s = seconds_since(written);
  print_summary(o.out, data);
  fmt::print("made in {:.2f} s, written in {:.2f} s\n", drawn_s, written_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("generate", [&] { generate(argc, argv); });
}
