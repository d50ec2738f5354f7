// Mutates bytes and contents of valid datasets, of one type and of several, and checkpoints, and loads them:
// each must load, or be refused with a one-line DataError that leaves the training unchanged; and
// check_dataset() must find no problems exactly if a dataset loads. Some files crash or hang HDF5's library,
// which therefore runs in its own process; these are counted.
//   hdf5_fuzz [RUNS | SECONDSs [SEED]]     hdf5_fuzz 4000, hdf5_fuzz 120s 7

#include "content_mutator.h"
#include "run.h"
#include <adjoint/data/generators.h>
#include <adjoint/data/reordered.h>
#include <adjoint/data/typed_dataset.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/nn/linear.h>
#include <adjoint/ops.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/training/training_state.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace {

using namespace adj;
using namespace adj::fuzz;
namespace fs = std::filesystem;

constexpr double kLongestSeconds = 120.0;  // a hang ends after seconds of CPU time; the machine may be busy

Bytes read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const Bytes& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

const std::string kImage = "image";  // in messages instead of the path

struct Net : nn::Module {
  nn::Child<nn::Linear> first{this, "first", 5, 3}, second{this, "second", 3, 2};
};

/// The training of a checkpoint.
class Training {
 public:
  Training() : adam_(model_.parameters()), stopping_(model_, 3), metrics_("metrics.csv", {"epoch", "loss"}) {
    state_.emplace("fuzz", model_, adam_);
    state_->add(stopping_).add(metrics_).require("options", "none");
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      for (const Var& parameter : model_.parameters()) sum(parameter * parameter).backward();
      adam_.step();
      stopping_.observe(epoch, epoch == 2 ? 0.9 : 0.5);
      metrics_.add({static_cast<double>(epoch), 0.5});
    }
  }
  void save(const fs::path& path) const { state_->save(path.string(), 4); }
  void resume(const std::string& path) {
    const std::vector<float> before = numbers();
    try {
      (void)state_->resume(path);
    } catch (...) {
      if (std::memcmp(numbers().data(), before.data(), before.size() * sizeof(float)) != 0)
        give_up("a checkpoint that was refused has changed the model");
      throw;
    }
    for (float number : numbers())
      if (!std::isfinite(number)) give_up("a checkpoint with numbers that are not finite was taken");
  }

 private:
  std::vector<float> numbers() const {
    std::vector<float> all;
    for (const Var& parameter : model_.parameters())
      for (float number : parameter.value().to_vector<float>()) all.push_back(number);
    return all;
  }

  nn::Model<Net> model_;
  optim::Adam adam_;
  optim::EarlyStopping stopping_;
  optim::MetricsFile metrics_;
  std::optional<training::TrainingState> state_;
};

/// The outcome of a file: "loaded", or the kind of error, whose message is `thrown`. Anything but a DataError
/// of one line ends the program.
std::string outcome(const std::function<void()>& load, std::string& thrown) {
  try {
    load();
    return "loaded";
  } catch (const DataError& error) {
    const std::string message = error.what();
    require_line(message);
    thrown = message;
    if (message.find("the HDF5 library crashed") != std::string::npos) return "HDF5 crashed";
    if (message.find("the HDF5 library did not finish") != std::string::npos) return "HDF5 hung";
    if (message.find("the HDF5 library reports") != std::string::npos) return "refused by HDF5";
    return "refused by the checks";
  }
}

bool is_of_library(const std::string& problem) {
  return problem.find("the HDF5 library") != std::string::npos;
}

/// As `inspect` finds them.
std::vector<std::string> problems_in(const std::string& path) {
  return is_typed_dataset(path) ? check_typed_dataset(path).problems : check_dataset(path).problems;
}

/// Compares the problems of check_dataset() with the error of loading. HDF5 may fail differently on the same
/// file (it reads uninitialised memory), and may accept `from_memory` what it refuses from a file.
void require_same(const std::string& path, bool from_memory, const std::string& thrown) {
  const std::vector<std::string> problems = from_memory ? check_dataset(path).problems : problems_in(path);
  for (const std::string& problem : problems) require_line(problem);
  // Disagreements between the library's drivers do not concern the checks.
  if (from_memory && is_of_library(problems.empty() ? thrown : problems.front())) return;
  if (thrown.empty() != problems.empty())
    give_up(fmt::format("{}: loading it {}, of problems there are {}:\n{}", path,
                        thrown.empty() ? "succeeds" : "fails: " + thrown, problems.size(),
                        fmt::join(problems, "\n")));
  const bool among = std::find(problems.begin(), problems.end(), thrown) != problems.end();
  if (!thrown.empty() && !among && !is_of_library(thrown))
    give_up(fmt::format("not among the problems: {}\n{}", thrown, fmt::join(problems, "\n")));
  try {
    (void)beside_schema(path);
  } catch (const DataError& error) {
    require_line(error.what());
  }
}

enum class Kind : uint8_t { dataset, typed, checkpoint };
constexpr const char* kKinds[] = {"dataset", "typed", "checkpoint"};

/// A valid file.
struct Seed {
  Bytes bytes;
  Content content;
  Kind kind = Kind::dataset;
};

/// Reordered nodes with a partition and names.
Dataset parted_and_named(Dataset data) {
  data.part = metis_partition(data.graph, 6);
  std::string names;
  std::vector<int64_t> ends{0};
  for (int64_t node = 0; node < data.num_nodes(); ++node) {
    names += fmt::format("n{}", node);
    ends.push_back(static_cast<int64_t>(names.size()));
  }
  data.node_names = Tensor::empty({static_cast<int64_t>(names.size())}, DType::u8);
  std::copy(names.begin(), names.end(), data.node_names.mutable_data<uint8_t>());
  data.node_name_offsets = Tensor::from(ends);
  for (int64_t c = 0; c < data.classes; ++c) data.class_names.push_back(fmt::format("class {}", c));
  Generator generator(3);
  return reordered(data, random_order(data.num_nodes(), generator));
}

/// Five rings of four nodes, each with a label, and nodes with ids.
Dataset many_graphs() {
  constexpr int32_t kNodes = 20;
  Dataset data;
  data.name = "rings";
  data.task = Task::graph_class;
  data.classes = 2;
  std::vector<int32_t> src, dst;
  std::vector<int64_t> ids;
  for (int32_t node = 0; node < kNodes; ++node) {
    src.push_back(node);
    dst.push_back(node % 4 == 3 ? node - 3 : node + 1);
    ids.push_back(1000 - node);
  }
  data.graph = Graph::from_coo(kNodes, Tensor::from(src), Tensor::from(dst));
  data.x = Features(Tensor::full({kNodes, 3}, 1.0));
  data.graph_offsets = Tensor::from(std::vector<int64_t>{0, 4, 8, 12, 16, 20});
  data.graph_y = Tensor::from(std::vector<int32_t>{0, 1, 0, 1, 0});
  data.graph_names = {"a", "b", "", "d d", "é"};
  data.node_ids = Tensor::from(ids);
  data.splits = {{Tensor::from(std::vector<int32_t>{0, 2}), Tensor::from(std::vector<int32_t>{1}),
                  Tensor::from(std::vector<int32_t>{3, 4})}};
  data.use_split(0);
  return data;
}

/// Two types of nodes, and edges with all that items have.
TypedDataset library() {
  const auto ints = [](std::vector<int32_t> values) { return Tensor::from(std::move(values)); };
  TypedDataset data;
  data.name = "library";
  ItemTable author, paper, writes;
  author.node_names = Tensor::from(std::vector<uint8_t>{'a', 'b', 'b'});
  author.node_name_offsets = Tensor::from(std::vector<int64_t>{0, 1, 3});
  paper.x = Features(Tensor::full({3, 2}, 0.5));
  paper.feature_names = {"pages", "age"};
  paper.task = writes.task = Task::node_class;
  paper.classes = writes.classes = 2;
  paper.class_names = {"gnn", "db"};
  paper.y = ints({0, 1, -1});
  paper.unlabelled = 1;
  paper.times = Tensor::from(std::vector<int64_t>{int64_t{1} << 60, -5, ItemTable::kNoTime});
  writes.x = Features(Tensor::full({4, 1}, 1.5));
  writes.y = ints({1, 0, 1, 1});
  writes.splits = {{ints({3, 0}), ints({1}), ints({2})}};
  const EdgeType wrote{"author", "wrote", "paper"}, cites{"paper", "cites", "paper"};
  data.graph = HeteroGraph({{"author", 2}, {"paper", 3}},
                           {{wrote,
                             {Relation::from_coo(2, 3, ints({1, 0, 1, 0}), ints({2, 0, 0, 1})),
                              {{"weight", Tensor::full({4}, 2.0)}, {"attr", writes.x.dense()}}}},
                            {cites, {Relation::from_coo(3, 3, ints({2, 1}), ints({0, 2})), {}}}});
  data.nodes = {{"author", author}, {"paper", paper}};
  data.edges = {{wrote, writes}, {cites, ItemTable()}};
  return data;
}

std::vector<Seed> seeds(const fs::path& scratch) {
  std::vector<Seed> all;
  const fs::path file = scratch / "seed.h5";
  const auto take = [&](Kind kind) {
    all.push_back({read(file), Content(H5Reader::open(file.string())), kind});
  };
  for (bool sparse : {false, true}) {
    test::small_file(sparse).write(file);
    take(Kind::dataset);
  }
  Training().save(file);
  take(Kind::checkpoint);
  const Dataset citation =
      make_citation_dataset({.nodes = 200, .features = 60, .train_per_class = 5, .val = 40, .test = 40});
  save_dataset(citation, file, 6);
  take(Kind::dataset);
  save_dataset(parted_and_named(citation), file);
  take(Kind::dataset);
  save_dataset(many_graphs(), file);
  take(Kind::dataset);
  save_typed_dataset(library(), file.string());
  take(Kind::typed);
  Training().save(file);
  take(Kind::checkpoint);
  // In the same order everywhere, so that run number and seed identify a file.
  const std::set<fs::path> corpus{fs::directory_iterator(ADJOINT_FUZZ_CORPUS), {}};
  for (const fs::path& path : corpus)
    all.push_back({read(path), {}});  // only bytes are mutated: the file has a cycle
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const Run run(argc, argv);
  const fs::path path = run.folder / "case.h5";
  Random random(run.seed);
  const std::vector<Seed> all = seeds(run.folder);
  Training training;
  std::map<std::string, std::map<std::string, long>> outcomes;
  double longest = 0.0;
  long runs = 0;
  for (; run.goes_on(runs); ++runs) {
    const Seed& seed = all[static_cast<size_t>(runs) % all.size()];
    const bool by_content = !seed.content.datasets.empty() && random.below(2) == 0;
    // Kept if this program crashes.
    if (by_content) {
      Content content = seed.content;
      content.mutate(random);
      try {
        content.write(path.string());
      } catch (const Error&) {
        continue;  // not supported by the writer, such as an attribute of a removed dataset
      }
    } else {
      write(path, Mutator(seed.bytes, random).mutate());
    }
    std::string thrown;
    const bool from_memory = seed.kind == Kind::dataset && random.below(2) == 0;
    const Bytes image = from_memory ? read(path) : Bytes();
    const double start = run.seconds();
    const std::string became = outcome(
        [&] {
          if (seed.kind == Kind::checkpoint) {
            training.resume(path.string());
          } else if (from_memory) {
            (void)load_dataset(std::as_bytes(std::span(image.data(), image.size())), kImage);
          } else if (is_typed_dataset(path.string())) {
            (void)load_typed_dataset(path.string());
          } else {
            (void)load_dataset(path.string());
          }
        },
        thrown);
    if (from_memory && !thrown.empty()) thrown.replace(0, kImage.size(), path.string());
    if (seed.kind != Kind::checkpoint) require_same(path.string(), from_memory, thrown);
    ++outcomes[fmt::format("{}, {}", kKinds[static_cast<size_t>(seed.kind)],
                           by_content ? "contents" : "bytes")][became];
    longest = std::max(longest, run.seconds() - start);
    if (longest > kLongestSeconds)
      give_up(fmt::format("run {}: took {:.0f} s, see {}", runs, longest, path.string()));
  }
  for (const auto& [kind, counts] : outcomes)
    for (const auto& [what, count] : counts) fmt::print("{:22} {:8}  {}\n", kind, count, what);
  fmt::print("{} files in {:.0f} s, the longest took {:.2f} s\n", runs, run.seconds(), longest);
  return 0;
}
