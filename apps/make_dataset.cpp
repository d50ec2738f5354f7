// Writes a generated dataset in Adjoint's HDF5 schema. data/demo.h5 is `make_dataset --out data/demo.h5
// --name demo`.

#include <adjoint/graph/citation_generator.h>

#include <cmath>
#include <iostream>

#include <boost/program_options.hpp>

namespace po = boost::program_options;

namespace {

struct Options {
  std::string out, name = "citation";
  adj::CitationOptions citation;
  int64_t seed = 1;
  int gzip = 9;
};

template <class T>
po::typed_value<T>* number(T& value) {
  return po::value(&value)->default_value(value)->value_name("N");
}

/// False if --help was asked for.
bool read(int argc, char** argv, Options& o) {
  adj::CitationOptions& c = o.citation;
  po::options_description all(
      "Usage: make_dataset --out FILE [OPTION]...\nWrites a citation-like graph with classes, "
      "bag-of-words features and a split");
  all.add_options()("out", po::value(&o.out)->value_name("FILE"), "the HDF5 file to write")(
      "name", po::value(&o.name)->default_value(o.name)->value_name("NAME"), "of the dataset")(
      "nodes", number(c.nodes), "nodes")("classes", number(c.classes), "classes")(
      "features", number(c.features), "words in the vocabulary")(
      "degree", number(c.degree), "mean number of neighbours")("homophily", number(c.homophily),
                                                               "share of edges within a class")(
      "words", number(c.words), "mean number of words drawn for a node")(
      "signal", number(c.signal), "share of words drawn from the class's own distribution")(
      "train-per-class", number(c.train_per_class), "training nodes of each class")(
      "val", number(c.val), "validation nodes")("test", number(c.test), "test nodes")(
      "seed", number(o.seed), "of all that is drawn")("gzip", number(o.gzip), "compression, 0 (none) to 9")(
      "help", "print this");
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
    std::cout << all;
    return false;
  }
  if (o.out.empty()) throw adj::UsageError("--out: expected the file to write");
  if (o.gzip < 0 || o.gzip > 9) throw adj::UsageError("--gzip: expected 0 to 9");
  if (o.seed < 0) throw adj::UsageError("--seed: expected 0 or more");
  c.seed = static_cast<uint64_t>(o.seed);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    if (!read(argc, argv, options)) return 0;
    adj::Dataset data;
    try {
      data = adj::make_citation_dataset(options.citation);
    } catch (const adj::OutOfMemory&) {
      throw;
    } catch (const adj::Error& error) {
      throw adj::UsageError(error.what());  // options that contradict each other
    }
    data.name = options.name;
    adj::save_dataset(data, options.out, options.gzip);
    fmt::print("{}: {} nodes, {} directed edges, {} features, {} classes\n", options.out, data.num_nodes(),
               data.graph.num_edges(), data.num_features(), data.num_classes());
  } catch (const adj::UsageError& error) {
    fmt::print(stderr, "make_dataset: {} (see --help)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_dataset: {}\n", error.what());
    return 1;
  }
  return 0;
}
