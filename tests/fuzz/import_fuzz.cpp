// Mutates small valid inputs of every importer: each must be imported, or refused with a one-line DataError.
// Imported datasets are written or refused; one in eight written files is read again.
//   import_fuzz [RUNS | SECONDSs [SEED]]     import_fuzz 4000, import_fuzz 30s 7

#include "../data/graphland_files.h"
#include "../data/gzip_file.h"
#include "../data/npz_layouts.h"
#include "npz_mutator.h"
#include "run.h"
#include <adjoint/core/log.h>
#include <adjoint/data/generators.h>
#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/graphland.h>
#include <adjoint/data/import/npz_dataset.h>
#include <adjoint/data/import/ogb.h>
#include <adjoint/data/import/rdf.h>
#include <adjoint/data/import/triples.h>
#include <adjoint/data/import/tu.h>
#include <adjoint/data/safetensors.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

namespace {

using namespace adj;
using namespace adj::fuzz;
namespace fs = std::filesystem;

/// The files of a valid input by name, one of which is mutated, and their importer.
struct Seed {
  std::string format;
  std::map<std::string, Bytes> files;
  std::function<Dataset(const fs::path& folder)> import;
  /// Mutation of the format's files, if mutations of text and bytes are too shallow.
  std::function<Bytes(const std::string& name, Random& random)> mutate = {};
};

Dataset import_edges(const fs::path& folder, EdgeListOptions options = {}) {
  const auto named = [&](const char* name) {
    return fs::exists(folder / name) ? (folder / name).string() : "";
  };
  options.node_files.features = named("features");
  options.node_files.labels = named("labels");
  options.node_files.train = named("train");
  options.node_files.val = named("val");
  options.node_files.test = named("test");
  return import_edge_list((folder / "edges").string(), options);
}

Seed npz_seed(const std::string& layout, std::map<std::string, test::NpzFile> files) {
  Seed seed{"npz, " + layout, {}, [name = files.begin()->first](const fs::path& f) {
              return import_npz((f / name).string());
            }};
  for (const auto& [name, file] : files) seed.files[name] = file.bytes();
  seed.mutate = [files](const std::string& name, Random& random) {
    return NpzMutator(random).mutate(files.at(name));
  };
  return seed;
}

Seed graphland_seed(GraphLandOptions::Split split) {
  GraphLandOptions options;
  options.split = split;
  return {fmt::format("graphland, {}", name_of(split)), test::city(),
          [options](const fs::path& f) { return import_graphland(f.string(), options); }};
}

test::NpzFile dense_features() {
  test::NpzFile file = test::gnn_benchmark();
  for (const char* name : {"attr_data", "attr_indices", "attr_indptr", "attr_shape"}) file.erase(name);
  file.add("attr_matrix", test::npy<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  return file;
}

/// Digits, separators and line ends, which random bytes seldom are.
Bytes mutated_text(Bytes bytes, Random& random) {
  const char* const pieces[] = {"\n",         "\r\n",    ",",    ";",  "\t",
                                " ",          "-",       "+",    "\"", "#",
                                "%",          "nan",     "1e39", "0",  "99999999999999999999",
                                "2147483647", "1000000", "\xff", ".",  "\n\n",
                                "e"};
  for (size_t left = 1 + random.below(3); left > 0; --left) {
    const size_t position = random.below(bytes.size() + 1);
    switch (random.below(5)) {
      case 0:
        bytes.insert(position, pieces[random.below(std::size(pieces))]);
        break;
      case 1:
        bytes.erase(position, 1 + random.below(6));
        break;
      case 2:
        bytes.insert(position, bytes.substr(random.below(bytes.size() + 1), random.below(20)));
        break;
      case 3:
        if (position < bytes.size()) bytes[position] = static_cast<char>(random.next());
        break;
      default:
        if (random.below(4) == 0) bytes.resize(position);
    }
  }
  return bytes;
}

/// Only tensors; the dataset is always the same.
Seed safetensors_seed() {
  const Bytes header =
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("h":{"dtype":"F16","shape":[2],"data_offsets":[24,28]},"b":{"dtype":"BOOL","shape":[4],"data_offsets":[28,32]}})";
  const auto file = [](const Bytes& text, const Bytes& data) {
    const uint64_t length = text.size();
    return Bytes(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data;
  };
  const Bytes data(32, '\0');
  Seed seed{"safetensors", {{"a.safetensors", file(header, data)}}, [](const fs::path& f) {
              const auto tensors = load_safetensors((f / "a.safetensors").string());
              const fs::path copy = f / "b.safetensors";
              save_safetensors(copy.string(), {tensors.begin(), tensors.end()});
              if (load_safetensors(copy.string()).size() != tensors.size()) std::abort();
              return make_bare_dataset({.nodes = 2, .src = {0}, .dst = {1}});
            }};
  // With the right length, so that the text is parsed.
  seed.mutate = [=](const std::string&, Random& random) {
    return random.below(4) == 0 ? Mutator(file(header, data), random).mutate()
                                : file(mutated_text(header, random), data);
  };
  return seed;
}

/// One line per format.
std::vector<Seed> seeds() {
  const Bytes snap =
      "# FromNodeId\tToNodeId\n11342\t824020\n824020 867923\n867923\t-1\n-1\t11342\n9007199254740993\t-1\n";
  const Bytes nodes = "id,a,b\nann,1,2.5\nbob,-3e2,4\ncid,5,6\ndan,0.1,1e-9\n";
  const Bytes matrix =
      "%%MatrixMarket matrix coordinate real symmetric\n% comment\n4 4 4\n1 1 0.5\n2 1 1\n3 2 -2e3\n4 3 7\n";
  return {
      {"edges, SNAP",
       {{"edges", snap}},
       [](const fs::path& f) { return import_edges(f, {.undirected = true, .coalesce = true}); }},
      {"edges, gzip", {{"edges", test::gzipped(snap)}}, [](const fs::path& f) { return import_edges(f); }},
      {"edges, Matrix Market", {{"edges", matrix}}, [](const fs::path& f) { return import_edges(f); }},
      {"edges, weighted",
       {{"edges", "s,t,w\n0,1,2.5\n1,2,-1\n2,2,0\n0,1,4\n"}},
       [](const fs::path& f) {
         return import_edges(f, {.ids = NodeIds::Kind::numbers,
                                 .columns = {.weight = "3"},
                                 .coalesce = true,
                                 .drop_self_loops = true});
       }},
      {"edges, files of nodes",
       {{"edges", "ann;bob\nbob;cid\ncid;dan\ndan;ann\n"},
        {"features", nodes},
        {"labels", "ann\tx\nbob\ty\ncid\tx\ndan\t\n"},
        {"train", "ann\n"},
        {"val", "bob\n"},
        {"test", "cid\n"}},
       [](const fs::path& f) { return import_edges(f); }},
      {"edges, quotes and guesses",
       {{"edges", "# c\nsrc,dst,\"w\n\"\n\"a, \"\"b\"\"\",#x,1\n#x,%y,2\n%y,\"a, \"\"b\"\"\",3e38\n"},
        {"features", "id,\"f\ng\"\n\"a, \"\"b\"\"\",\"1\"\n#x,\n%y,NA\n"},
        {"labels", "node;label\n\"a, \"\"b\"\"\";1.0\n#x;10.0\n%y;2.0\n"}},
       [](const fs::path& f) {
         EdgeListOptions o{.columns = {.weight = "3"}, .coalesce = true};
         o.node_files.impute = Imputation::median;
         o.node_files.split = RandomSplits{{.val = 0.33, .test = 0.33}, 1, true};
         return import_edges(f, o);
       }},
      {"edges, comments and rows",
       {{"edges", "//,\n0\t1\n1 2\n2\t0\n"}, {"features", "a b\n1 NA\n? 2\n3 4\n"}, {"labels", "\n-1\nx\n"}},
       [](const fs::path& f) {
         EdgeListOptions o{.ids = NodeIds::Kind::numbers, .nodes = 3, .text = {.comment = "//"}};
         o.node_files = {.features_by_row = true,
                         .impute = Imputation::mean,
                         .labels_by_row = true,
                         .missing_labels = std::vector<std::string>{"NA"}};
         return import_edges(f, o);
       }},
      {"edges, tabs, targets",
       {{"edges", "0\t1\ta b\t\n1\t2\t\tc\n2\t3\td\t\n"},
        {"features", "0\t1\t2\n1\t3\t4\n2\t5\t6\n3\t7\t8\n"},
        {"labels", "0,1,nan\n1,,2\n3,0.5,1\n"},
        {"train", "0\n"},
        {"val", "1\n"},
        {"test", "3\n"}},
       [](const fs::path& f) {
         return import_edges(f,
                             {.ids = NodeIds::Kind::numbers, .node_files = {.task = Task::node_regression}});
       }},
      {"edges, a matrix with names",
       {{"edges", "\"\",a,b,\"c,\"\na,0,1.5,0\n\"c,\",1,0,2\nb,0,-1e3,0\n"},
        {"features", "id,x\nb,1\na,2\n\"c,\",3\n"}},
       [](const fs::path& f) { return import_edges(f, {.layout = EdgeLayout::matrix}); }},
      {"edges, a Matrix Market array",
       {{"edges", "%%MatrixMarket matrix array real symmetric\n3 3\n0\n1\n2.5\n0\n-1e3\n0\n"}},
       [](const fs::path& f) {
         return import_edges(f, {.layout = EdgeLayout::matrix, .undirected = true, .coalesce = true});
       }},
      {"edges, lists of neighbours",
       {{"edges", "# c\nann: bob, \"c,d\"\nbob:\n\"c,d\": ann, ann\n"}, {"labels", "ann,x\nbob,y\n"}},
       [](const fs::path& f) {
         return import_edges(f,
                             {.layout = EdgeLayout::neighbors, .undirected = true, .drop_self_loops = true});
       }},
      {"edges, sets of items",
       {{"edges", "1 2\n2 3\n"}, {"features", "id;words\n1;3,17\n2;\n3;['a', \"b\"]\n"}},
       [](const fs::path& f) {
         EdgeListOptions o;
         o.node_files.types = {{"words", ColumnType::set}};
         return import_edges(f, o);
       }},
      graphland_seed(GraphLandOptions::Split::RL),
      graphland_seed(GraphLandOptions::Split::THI),
      npz_seed("heterophilous", {{"a.npz", test::heterophilous()}}),
      npz_seed("gnn-benchmark", {{"a.npz", test::gnn_benchmark()}}),
      npz_seed("gnn-benchmark, dense", {{"a.npz", dense_features()}}),
      npz_seed("Reddit", {{"a_data.npz", test::reddit_data()}, {"a_graph.npz", test::reddit_graph()}}),
      npz_seed("plain", {{"a.npz", test::plain()}}),
      safetensors_seed(),
      {"ogb, nodes",
       {{"edge.csv.gz", test::gzipped("0,1\n2,1\n3,3\n0,1\n1,0\n")},
        {"num-node-list.csv", "4\n"},
        {"num-edge-list.csv", "5\n"},
        {"node-feat.csv", "0.5,-1\n2,3\n4e-1,5\n6,7\n"},
        {"edge-feat.csv", "10,1\n20,2\n30,3\n40,4\n50,5\n"},
        {"node-label.csv", "2\nnan\n1\n2\n"}},
       [](const fs::path& f) {
         return import_ogb(f.string(), {.inverse_edges = true, .labels = LabelKind::classes});
       }},
      {"ogb, graphs",
       {{"edge.csv", "0,1\n1,0\n2,0\n"},
        {"num-node-list.csv", "2\n1\n3\n"},
        {"num-edge-list.csv", "1\n0\n2\n"},
        {"graph-label.csv", "0.5,1\n,2\n1,3\n"}},
       [](const fs::path& f) { return import_ogb(f.string(), {.labels = LabelKind::regression}); }},
      {"tu",
       {{"T_A.txt", "1, 2\n2, 1\n3, 4\n4, 4\n3, 4\n5, 3\n"},
        {"T_graph_indicator.txt", "1\n1\n2\n2\n2\n"},
        {"T_graph_labels.txt", "1\n-1\n"},
        {"T_node_labels.txt", "3\n5\n3\n4\n5\n"},
        {"T_node_attributes.txt", "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n"},
        {"T_edge_labels.txt", "0\n0\n1\n1\n2\n0\n"}},
       [](const fs::path& f) { return import_tu(f.string(), {.node_attributes = true}); }},
  };
}

/// One type of edges; of a mutated file perhaps none.
Dataset first_graph(const TypedDataset& data) {
  for (const EdgeType& type : data.graph.edge_types())
    if (type.src == type.dst) return data.homogeneous(type);
  data_fail("{}: no edges between nodes of one type", data.name);
}

Dataset import_rdf_graph(const fs::path& folder, const char* name, const RdfLabels& labels = {}) {
  std::vector<std::string> notes;
  RdfOptions options{.inverse = true, .labels = labels};
  if (!labels.train.empty()) options.labels.train = (folder / labels.train).string();
  if (!labels.test.empty()) options.labels.test = (folder / labels.test).string();
  return first_graph(import_rdf({(folder / name).string()}, options, notes));
}

Dataset import_triple_graph(const fs::path& folder) {
  std::vector<std::string> notes;
  return first_graph(import_triples(find_triple_files(folder.string()), "", notes));
}

Dataset import_ogb_types(const fs::path& folder) {
  std::vector<std::string> notes;
  return first_graph(
      import_typed_ogb(folder.string(), {.inverse_edges = true, .labels = LabelKind::classes}, notes));
}

/// Of datasets with several types.
std::vector<Seed> typed_seeds() {
  std::vector<Seed> all = {
      {"ogb, types",
       {{"num-node-dict.csv", "a,p\n2,3\n"},
        {"triplet-type-list.csv", "a,w,p\np,c,p\n"},
        {"relations/a___w___p/edge.csv", "0,2\n1,0\n"},
        {"relations/a___w___p/num-edge-list.csv", "2\n"},
        {"relations/p___c___p/edge.csv", "0,1\n2,2\n"},
        {"relations/p___c___p/num-edge-list.csv", "2\n"},
        {"node-feat/p/node-feat.csv", "0.5,1\n2,3\n-1,4\n"},
        {"node-label/p/node-label.csv", "1\n0\n1\n"}},
       import_ogb_types},
      {"triples, names",
       {{"train.txt", "a\tr\tb\nb\ts\tc\na\tr\tb\n"}, {"valid.txt", "a\tr\tc\n"}, {"test.txt", "d\tr\ta\n"}},
       import_triple_graph},
      {"triples, OpenKE",
       {{"train2id.txt", "2\n0 1 0\n1 0 1\n"},
        {"entity2id.txt", "2\na b\t0\nc\t1\n"},
        {"relation2id.txt", "2\nr\t1\ns\t0\n"}},
       import_triple_graph}};
  if (ADJOINT_WITH_SERD == 0) return all;
  all.push_back({"rdf, N-Triples",
                 {{"a.nt",
                   "<http://a> <http://p> <http://b> .\n_:x <http://q> \"t\\n\"@en .\n<http://b> <http://p> "
                   "\"5\"^^<http://i> .\n"},
                  {"train", "person\tlabel\nhttp://a\tx\nhttp://b\ty\n"},
                  {"test", "person\tlabel\n_:x\ty\n"}},
                 [](const fs::path& f) {
                   return import_rdf_graph(f, "a.nt", {.train = "train", .test = "test", .val_share = 0.5});
                 }});
  all.push_back(
      {"rdf, Turtle",
       {{"a.ttl",
         "@prefix e: <http://e/> .\ne:a a e:C ; e:p 5, 'x'@en, [ e:q ( 1 \"\"\"l\nq\"\"\" ) ] .\n@base "
         "<http://b/> .\n<c> e:p true .\n"}},
       [](const fs::path& f) { return import_rdf_graph(f, "a.ttl"); }});
  return all;
}

std::string outcome(const Seed& seed, const fs::path& folder, bool write) {
  const std::string written = (folder / "written.h5").string();
  bool saved = false;
  try {
    const Dataset data = seed.import(folder);
    if (!write) return "imported";
    save_dataset(data, written);
    saved = true;
    (void)load_dataset(written);
    return "imported";
  } catch (const DataError& error) {
    const std::string message = error.what();
    if (saved) give_up("what was written is not read: " + message);
    require_line(message);
    return "refused";
  } catch (const std::exception& error) {
    give_up(fmt::format("another error than DataError: {}", error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  set_log_level(LogLevel::error);
  const Run run(argc, argv);
  const fs::path& folder = run.folder;
  Random random(run.seed);
  std::vector<Seed> all = seeds();
  for (Seed& seed : typed_seeds()) all.push_back(std::move(seed));
  std::map<std::string, std::map<std::string, long>> outcomes;
  const auto put_all = [&](const Seed& seed) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    for (const auto& [name, bytes] : seed.files) {
      fs::create_directories((folder / name).parent_path());
      std::ofstream(folder / name, std::ios::binary) << bytes;
    }
  };
  for (const Seed& seed : all) {
    put_all(seed);
    if (outcome(seed, folder, true) != "imported") give_up(seed.format + ": refused as it is");
  }
  for (long runs = 0; run.goes_on(runs); ++runs) {
    const Seed& seed = all[static_cast<size_t>(runs) % all.size()];
    put_all(seed);
    const auto file =
        std::next(seed.files.begin(), static_cast<std::ptrdiff_t>(random.below(seed.files.size())));
    const bool by_bytes = file->second.size() > 64 && random.below(4) == 0;
    std::ofstream(folder / file->first, std::ios::binary)
        << (seed.mutate ? seed.mutate(file->first, random)
            : by_bytes  ? Mutator(file->second, random).mutate()
                        : mutated_text(file->second, random));
    ++outcomes[seed.format][outcome(seed, folder, random.below(8) == 0)];
  }
  for (const auto& [format, counts] : outcomes)
    for (const auto& [what, count] : counts) fmt::print("{:24} {:8}  {}\n", format, count, what);
  return 0;
}
