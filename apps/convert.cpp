// Converts datasets of other tools to Adjoint's HDF5 schema.

#include "common/command_line.h"
#include "common/summary.h"
#include "convert/formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/text_source.h>
#include <adjoint/data/split_columns.h>
#include <adjoint/training/stopwatch.h>

#include <filesystem>
#include <memory>
#include <variant>

using namespace adj;
using namespace adj::apps;
using training::seconds_since;
namespace po = boost::program_options;

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string input, out, name;  // input: the first of them
  int64_t gzip = 0, threads = 0;
  bool quiet = false;
};

/// The first input, or the file to write, from plain words; the others go to the format.
void take_inputs(const Format& format, Options& o) {
  if (format.further_inputs && o.out.empty() && o.inputs.size() > 1) {
    o.out = std::move(o.inputs.back());
    o.inputs.pop_back();
  }
  if (!format.further_inputs && o.inputs.size() > 1) usage_fail("--input: a second one, expected one");
  if (!o.inputs.empty()) o.input = o.inputs[0];
  if (format.further_inputs && !o.inputs.empty())
    format.further_inputs->assign(o.inputs.begin() + 1, o.inputs.end());
}

constexpr const char* kUsage = "convert FORMAT INPUT OUT.h5 [OPTION]...";

/// The values of all options but FORMAT. False if --help or --version was printed.
bool read(int argc, char** argv, const Format& format, SplitOptions& splits, Options& o) {
  const bool several = format.further_inputs != nullptr;
  if (!read_options(
          argc, argv,
          table_of({{"input", &o.inputs, "PATH",
                     several ? "an input, also as an argument; any number of times"
                             : "the input, also as second argument"},
                    {"out", &o.out, "FILE",
                     fmt::format("HDF5 file to write, also as {} argument; an existing file is replaced",
                                 several ? "last" : "third")},
                    {"name", &o.name, "NAME", "name of the dataset (default: the input's)"},
                    gzip_option(o.gzip),
                    threads_option(o.threads),
                    {"quiet", &o.quiet, "", "no progress"}}),
          several ? std::vector<std::string>{"input..."} : std::vector<std::string>{"input", "out"},
          fmt::format("convert {} {} OUT.h5 [OPTION]...", format.name,
                      several                    ? "INPUT..."
                      : format.input_is_optional ? "[INPUT]"
                                                 : "INPUT"),
          fmt::format("Reads {}.", format.summary),
          po::options_description()
              .add(table_of(format.options, "Options of " + format.name))
              .add(table_of(splits.list(format.split_names), "Random splits"))))
    return false;
  take_inputs(format, o);
  if (format.input_is_optional && o.out.empty()) std::swap(o.input, o.out);
  if (o.input == "-") o.input = "/dev/stdin";
  if ((o.input.empty() && !format.input_is_optional) || o.out.empty())
    usage_fail("expected the input and the file to write: {}", kUsage);
  use_threads(o.threads);
  return true;
}

/// A new format takes its name here, its function's declaration, and the function in convert/NAME.cpp.
std::vector<Format> formats(const std::shared_ptr<const SplitOptions>& splits) {
  return {edges_format(splits), graphland_format(splits), npz_format(),     ogb_format(splits),
          rdf_format(splits),   tables_format(splits),    triples_format(), tu_format(),
          typed_format()};
}

/// "web-Google" from "data/web-Google.txt.gz", "shop" from "shop.db:orders".
std::string name_of_input(const std::string& input) {
  std::filesystem::path path(input_file(input));
  if (!path.has_filename()) path = path.parent_path();
  const std::string file = path.filename().string();
  return file.substr(0, std::max<size_t>(file.find('.'), 1));
}

/// The summary sorts the edges, which needs more memory than reading. The features are already in the file,
/// so only their count is kept.
void release_features(Dataset& data) {
  if (!data.x || data.x.is_sparse()) return;
  data.x = Features(Tensor::empty({0, data.num_features()}));
  empty_cache(Device::cpu());
}

/// Splits instead of the input's; returns the lines about them.
std::vector<std::string> draw_splits(const RandomSplits& random, const std::string& input, Dataset& data) {
  std::vector<std::string> notes;
  if (!data.splits.empty())
    notes.push_back(fmt::format("instead of the input's splits ({})", data.splits.size()));
  data.splits = random.draw(data, input);
  data.use_first_split();
  notes.insert(notes.begin(), random.note(data.splits, word_for_split_items(data.task)));
  return notes;
}

/// The same for each type of nodes with labels.
std::vector<std::string> draw_splits(const RandomSplits& random, const std::string& input,
                                     TypedDataset& data) {
  std::vector<std::string> notes;
  for (auto& [type, items] : data.nodes) {
    if (items.task == Task::none) continue;
    items.splits = random.draw(items.y, data.num_nodes(type), input);
    items.use(items.splits[0]);
    notes.push_back(fmt::format("nodes {}: {}", printable(type), random.note(items.splits, "nodes")));
  }
  if (notes.empty()) data_fail("{}: no type of nodes has labels, expected some for --split", excerpt(input));
  return notes;
}

/// What training parts leave out of several labels or targets.
void note_untrained(const Tensor& y, const ItemTable& items, std::string_view what,
                    std::vector<std::string>& notes) {
  if (const std::string note =
          UntrainedColumns(y, items.task, items.class_names, items.splits).note(items.task);
      !note.empty())
    notes.push_back(std::string(what) + note);
}
void note_untrained(const Dataset& data, std::vector<std::string>& notes) {
  note_untrained(data.labels(), data, "", notes);
}
void note_untrained(const TypedDataset& data, std::vector<std::string>& notes) {
  for (const auto& [type, items] : data.nodes)
    note_untrained(items.y, items, fmt::format("nodes {}: ", printable(type)), notes);
  for (const auto& [type, items] : data.edges)
    note_untrained(items.y, items, fmt::format("edges {}: ", printable(text_of(type))), notes);
}

/// Whether a graph holds all that the nodes and edges of the only types have: labels and splits of both need
/// types.
bool is_graph(const ItemTable& nodes, const ItemTable& edges) {
  if (!edges.y && edges.splits.empty()) return true;
  return edges.y && edges.task != Task::node_multilabel && nodes.task == Task::none && nodes.splits.empty();
}

/// One type of nodes and edges is a graph, if that holds all.
std::variant<Dataset, TypedDataset> import(const Format& format, const std::string& input,
                                           std::vector<std::string>& notes) {
  std::variant<Dataset, TypedDataset> any = format.import(input, notes);
  if (std::holds_alternative<Dataset>(any)) return any;
  auto& data = std::get<TypedDataset>(any);
  if (format.keeps_types || data.nodes.size() > 1 || data.edges.size() > 1) return any;
  const auto& [type, edges] = *data.edges.begin();
  if (!is_graph(data.nodes.begin()->second, edges)) return any;
  return data.homogeneous(type);
}

void save(Dataset& data, const std::string& path, int gzip) {
  save_dataset(data, path, gzip);
  release_features(data);
}
void save(const TypedDataset& data, const std::string& path, int gzip) {
  save_typed_dataset(data, path, gzip);
}

void convert(int argc, char** argv) {
  const auto splits = std::make_shared<SplitOptions>();
  const auto chosen = chosen_kind(
      argc, argv, kUsage, "Reads a dataset of another format and writes it as HDF5.", formats(splits));
  Options o;
  if (!chosen || !read(argc - 1, argv + 1, *chosen, *splits, o)) return;
  const Format& format = *chosen;
  const auto random = format.draws_splits ? std::nullopt : splits->random(!format.split_names.empty());
  if (o.quiet) set_log_level(LogLevel::warning);
  RunFiles files;
  if (!o.input.empty()) files.read("input", input_file(o.input));
  if (format.further_inputs)
    for (const std::string& path : *format.further_inputs) files.read("input", path);
  for (const auto& [option, path] : format.files()) files.read(option, input_file(path));
  files.write("out", o.out);

  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> notes;
  std::variant<Dataset, TypedDataset> data = import(format, o.input, notes);
  std::string& name = std::visit([](auto& any) -> std::string& { return any.name; }, data);
  if (!o.name.empty()) name = o.name;
  if (name.empty()) name = name_of_input(o.input.empty() ? o.out : o.input);
  if (random)
    for (std::string& note : std::visit([&](auto& any) { return draw_splits(*random, o.input, any); }, data))
      notes.push_back(std::move(note));
  std::visit([&](const auto& any) { note_untrained(any, notes); }, data);
  const double read_s = seconds_since(start);
  const auto written = std::chrono::steady_clock::now();
  std::visit([&](auto& any) { save(any, o.out, static_cast<int>(o.gzip)); }, data);
  const double written_s = seconds_since(written);
  std::visit([&](auto& any) { print_summary(o.out, any); }, data);
  for (const std::string& note : notes) fmt::print("{}\n", note);
  fmt::print("read in {:.2f} s, written in {:.2f} s\n", read_s, written_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("convert", [&] { convert(argc, argv); });
}
