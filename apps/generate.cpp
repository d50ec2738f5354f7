// Writes a generated dataset in Adjoint's HDF5 schema. data/demo.h5 is `generate citation data/demo.h5 --name
// demo --gzip 9`.

#include "common/command_line.h"
#include "common/summary.h"
#include "generate/specs.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/stopwatch.h>

using namespace adj;
using namespace adj::apps;
using training::seconds_since;
namespace po = boost::program_options;

namespace {

struct Options {
  std::string out, name;
  int64_t seed = 1, gzip = 0, threads = 0;
};

constexpr const char* kUsage = "generate SPEC OUT.h5 [OPTION]...";
constexpr int64_t kLarge = 10'000'000;  // edges from which progress is reported

/// The values of all options but SPEC. False if --help or --version was printed.
bool read(int argc, char** argv, const Spec& spec, Options& o) {
  if (!read_options(argc, argv,
                    table_of({{"out", &o.out, "FILE",
                               "HDF5 file to write, also as second argument; an existing file is replaced"},
                              {"name", &o.name, "NAME", "name of the dataset"},
                              {"seed", &o.seed, "N", "random seed", true,
                               IntegerRange{0, std::numeric_limits<int64_t>::max()}},
                              gzip_option(o.gzip),
                              threads_option(o.threads)}),
                    {"out"}, fmt::format("generate {} OUT.h5 [OPTION]...", spec.name),
                    fmt::format("Writes {}.", spec.summary),
                    po::options_description().add(table_of(spec.options, "Options of " + spec.name))))
    return false;
  if (o.out.empty()) usage_fail("expected the file to write: {}", kUsage);
  use_threads(o.threads);
  return true;
}

template <class Make>
auto make(const Make& draw, const Options& o) {
  try {
    auto data = draw(static_cast<uint64_t>(o.seed));
    if (!o.name.empty()) data.name = o.name;
    return data;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());  // options out of range or in conflict
  }
}

/// Makes the dataset, writes it with save(data, path, gzip), and says so.
template <class Make, class Save>
void generate(const Spec& spec, const Options& o, const Make& draw, Save save) {
  const auto start = std::chrono::steady_clock::now();
  const auto data = make(draw, o);
  const double drawn_s = seconds_since(start);
  if (data.graph.num_edges() >= kLarge)
    log_info("{}: {} edges generated in {:.1f} s, writing", spec.name, data.graph.num_edges(), drawn_s);
  const auto written = std::chrono::steady_clock::now();
  save(data, o.out, static_cast<int>(o.gzip));
  const double written_s = seconds_since(written);
  print_summary(o.out, data);
  fmt::print("generated in {:.2f} s, written in {:.2f} s\n", drawn_s, written_s);
}

void generate(int argc, char** argv) {
  const auto chosen = chosen_kind(argc, argv, kUsage, "Writes a generated dataset as HDF5.", specs());
  Options o;
  if (!chosen || !read(argc - 1, argv + 1, *chosen, o)) return;
  const Spec& spec = *chosen;
  RunFiles().write("out", o.out);

  spec.make_typed ? generate(spec, o, spec.make_typed, save_typed_dataset)
                  : generate(spec, o, spec.make, save_dataset);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("generate", [&] { generate(argc, argv); });
}
