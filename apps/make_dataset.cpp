// Writes a generated dataset in Adjoint's HDF5 schema. data/demo.h5 is `make_dataset --out data/demo.h5
// --name demo`.

#include "common/options.h"
#include "common/outputs.h"
#include <adjoint/data/generators.h>

#include <boost/program_options.hpp>
#include <fmt/ranges.h>

namespace po = boost::program_options;

namespace {

struct Options {
  std::string out, name, graph;
  adj::CitationOptions citation;
  int64_t seed = 1;
  int gzip = 9;
};

using adj::apps::with_default;

/// False if --help was asked for.
bool read(int argc, char** argv, Options& o) {
  adj::CitationOptions& c = o.citation;
  po::options_description all, general("Options"),
      citation("A citation-like graph with something to learn, unless --graph is given");
  general.add_options()("out", po::value(&o.out)->value_name("FILE"), "the HDF5 file to write")(
      "name", po::value(&o.name)->value_name("NAME"), "of the dataset")("features", with_default(c.features),
                                                                        "columns of the features")(
      "classes", with_default(c.classes), "classes")("seed", with_default(o.seed), "of all that is drawn")(
      "gzip", with_default(o.gzip), "compression, 0 (none) to 9")(
      "graph", po::value(&o.graph)->value_name("NAME"),
      fmt::format("a graph of a well-known shape and size, with random features and classes: {}",
                  fmt::join(adj::named_graphs(), ", "))
          .c_str())("help", "print this");
  citation.add_options()("nodes", with_default(c.nodes), "nodes")(
      "degree", with_default(c.degree), "mean number of neighbours")("homophily", with_default(c.homophily),
                                                                     "share of edges within a class")(
      "words", with_default(c.words), "mean number of words drawn for a node")(
      "signal", with_default(c.signal), "share of words drawn from the class's own distribution")(
      "train-per-class", with_default(c.train_per_class), "training nodes of each class")(
      "val", with_default(c.val), "validation nodes")("test", with_default(c.test), "test nodes");
  all.add(general).add(citation);
  po::variables_map values;
  try {
    const po::positional_options_description none;
    po::store(po::command_line_parser(argc, argv)
                  .options(all)
                  .positional(none)
                  .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw adj::UsageError(error.what());
  }
  if (values.count("help") != 0) {
    adj::apps::print_help("make_dataset --out FILE [OPTION]...", "Writes a generated dataset as HDF5.", all);
    return false;
  }
  if (o.out.empty()) throw adj::UsageError("--out: expected the file to write");
  if (o.gzip < 0 || o.gzip > 9) throw adj::UsageError("--gzip: expected 0 to 9");
  if (o.seed < 0) throw adj::UsageError("--seed: expected 0 or more");
  if (c.features < 1 || c.classes < 1) throw adj::UsageError("--features, --classes: expected 1 or more");
  for (const auto& option : citation.options())
    if (!o.graph.empty() && !values[option->long_name()].defaulted())
      throw adj::UsageError(fmt::format("--{} is not for --graph", option->long_name()));
  c.seed = static_cast<uint64_t>(o.seed);
  return true;
}

adj::Dataset make(const Options& o) {
  const adj::CitationOptions& c = o.citation;
  adj::Dataset data;
  try {
    data = o.graph.empty()
               ? adj::make_citation_dataset(c)
               : adj::make_random_dataset(adj::named_graph(o.graph, c.seed), c.features, c.classes, c.seed);
  } catch (const adj::OutOfMemory&) {
    throw;
  } catch (const adj::Error& error) {
    throw adj::UsageError(error.what());  // options that contradict each other
  }
  if (!o.graph.empty()) data.name = o.graph;
  if (!o.name.empty()) data.name = o.name;
  return data;
}

}  // namespace

int main(int argc, char** argv) {
  return adj::run_program("make_dataset", [&] {
    Options options;
    if (!read(argc, argv, options)) return;
    adj::apps::RunFiles().write("out", options.out);
    const adj::Dataset data = make(options);
    adj::save_dataset(data, options.out, options.gzip);
    fmt::print("{}: {} nodes, {} directed edges, {} features, {} classes\n", adj::printable(options.out),
               data.num_nodes(), data.graph.num_edges(), data.num_features(), data.num_classes());
  });
}
