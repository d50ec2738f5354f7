#include "arrays.h"
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/data/loader/saint_loader.h>

#include <mutex>

namespace adj::python {

namespace {

/// Iterator over an epoch's batches; one thread at a time takes the next.
template <class Batch>
struct Epoch {
  std::unique_ptr<Prefetcher<Batch>> batches;
  std::unique_ptr<std::mutex> one = std::make_unique<std::mutex>();

  Epoch(Epoch&&) = default;
  explicit Epoch(Prefetcher<Batch>* prefetcher) : batches(prefetcher) {}
  ~Epoch() {
    if (batches) without_gil([&] { batches.reset(); });  // its workers end, which may take a batch's time
  }
};

/// A loader, and the epoch that the next loop over it is.
template <class Loader>
struct Epochs {
  Loader loader;
  int64_t next = 0;
};

template <class Loader>
auto start(const Loader& loader, int64_t e) {
  using Batch = std::remove_cvref_t<decltype(loader.batch(0, 0))>;
  return without_gil([&] { return Epoch<Batch>(new Prefetcher<Batch>(loader.epoch(e))); });
}

/// The class `name`, iterable, without a constructor.
template <class Loader>
auto bind_loader(nb::module_& m, const char* name, const char* doc) {
  using Batch = std::remove_cvref_t<decltype(std::declval<Loader>().batch(0, 0))>;
  using Here = Epochs<Loader>;
  if (!nb::type<Epoch<Batch>>().is_valid())  // loaders of subgraphs share theirs
    nb::class_<Epoch<Batch>>(m, (std::string(name) + "Epoch").c_str())
        .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
        .def("__len__", [](const Epoch<Batch>& e) { return e.batches->size(); })
        .def("__next__", [](Epoch<Batch>& e) {
          std::optional<Batch> batch = without_gil([&] {
            const std::lock_guard lock(*e.one);
            return e.batches->next();
          });
          if (!batch) throw nb::stop_iteration();
          return std::move(*batch);
        });
  return nb::class_<Here>(m, name, doc)
      .def(
          "__len__", [](const Here& l) { return l.loader.size(); }, "Batches per epoch.")
      .def(
          "__iter__", [](Here& l) { return start(l.loader, l.next++); }, "The next epoch, from 0 on.")
      .def(
          "epoch", [](const Here& l, int64_t e) { return start(l.loader, e); }, nb::arg("e"),
          "Epoch e; its batches do not depend on earlier epochs.")
      .def(
          "batch",
          [](const Here& l, int64_t e, int64_t i) {
            return without_gil([&] { return l.loader.batch(e, i); });
          },
          nb::arg("e"), nb::arg("i"));
}

template <class Loader, class... Args>
void construct(Epochs<Loader>* self, const Args&... args) {
  new (self) Epochs<Loader>{interruptible([=] { return Loader(args...); })};  // may take METIS a minute
}

std::optional<Device> to_device(const std::optional<std::string>& device) {
  return device ? std::optional(Device::parse(*device)) : std::nullopt;
}

/// Members that batches have in common.
template <class Batch, class Class>
void bind_data(Class& bound) {
  bound
      .def_prop_ro(
          "x", [](const Batch& b) { return to_matrix(b.x); }, "[K, F]; sparse features are made dense.")
      .def_prop_ro(
          "x_csr", [](const Batch& b) { return to_csr(b.x); },
          "(data, indices, indptr) of sparse features; else None.")
      .def("__len__", &Batch::size);
}

template <class Batch, class Class>
void bind_graph(Class& bound) {
  bound.def_prop_ro("num_nodes", [](const Batch& b) { return b.graph.num_nodes(); })
      .def_prop_ro(
          "edge_index",
          [](const Batch& b) { return to_pair(without_gil([&] { return b.graph.edge_index(); })); },
          "(src, dst), int32 [M] each, numbered within the batch.")
      .def_prop_ro("edge_weight", [](const Batch& b) { return to_array(b.graph.edge_weight()); })
      .def_prop_ro("y", array_of(&Batch::y));
}

void bind_batches(nb::module_& m) {
  nb::class_<Block>(m, "Block",
                    "A hop of a sampled neighbourhood; lists its target nodes first among its source nodes.")
      .def_prop_ro("num_src", &Block::num_src)
      .def_prop_ro("num_dst", &Block::num_dst)
      .def_prop_ro("num_edges", &Block::num_edges)
      .def_prop_ro(
          "edge_index",
          [](const Block& b) { return to_pair(without_gil([&] { return b.relation().edge_index(); })); },
          "(src, dst), int32 [M] each, numbered within the block.")
      .def_prop_ro(
          "src_nodes", [](const Block& b) { return to_array(b.src_nodes()); },
          "int32, indices in the whole graph.")
      .def_prop_ro("dst_nodes", [](const Block& b) { return to_array(b.dst_nodes()); })
      .def_prop_ro("edge_ids", [](const Block& b) { return to_array(b.edge_ids()); });

  auto neighbors = nb::class_<NeighborBatch>(m, "NeighborBatch").def_ro("blocks", &NeighborBatch::blocks);
  bind_data<NeighborBatch>(neighbors);
  neighbors.def_prop_ro("y", array_of(&NeighborBatch::y), "Labels of the seeds.")
      .def_prop_ro("seeds", array_of(&NeighborBatch::seeds));

  auto links = nb::class_<LinkBatch>(m, "LinkBatch").def_ro("blocks", &LinkBatch::blocks);
  bind_data<LinkBatch>(links);
  links.def_prop_ro("nodes", array_of(&LinkBatch::nodes))
      .def_prop_ro(
          "pairs", [](const LinkBatch& b) { return to_pair(b.pairs); }, "Indices into nodes.")
      .def_prop_ro("label", array_of(&LinkBatch::label), "1 for a connected pair, 0 for a negative one.")
      .def_ro("positives", &LinkBatch::positives);

  nb::class_<SubgraphBatch> subgraphs(m, "SubgraphBatch");
  bind_data<SubgraphBatch>(subgraphs);
  bind_graph<SubgraphBatch>(subgraphs);
  subgraphs.def_prop_ro("nodes", array_of(&SubgraphBatch::nodes), "Their indices in the whole graph.")
      .def_prop_ro("seeds", array_of(&SubgraphBatch::seeds),
                   "Indices within the batch of the nodes to train on.")
      .def_prop_ro("weight", array_of(&SubgraphBatch::weight),
                   "Weights of the seeds in the loss; None: all equal.");

  nb::class_<GraphBatch> graphs(m, "GraphBatch");
  bind_data<GraphBatch>(graphs);
  bind_graph<GraphBatch>(graphs);
  graphs.def_prop_ro("offsets", array_of(&GraphBatch::offsets))
      .def_prop_ro("graphs", array_of(&GraphBatch::graphs), "Their indices in the dataset.");
}

}  // namespace

void bind_loaders(nb::module_& m) {
  using Text = std::optional<std::string>;
  const auto workers = nb::arg("workers") = 0;
  const auto depth = nb::arg("depth") = 0;
  const auto device = nb::arg("device") = nb::none();
  const auto shuffle = nb::arg("shuffle") = false;
  const auto drop_last = nb::arg("drop_last") = false;
  const auto seed = nb::arg("seed") = 0;
  // No layer of the library computes on a batch's graph, so nothing is derived of it.
  const auto loading = [](int64_t batch_size, bool shuffle, bool drop_last, uint64_t seed, int workers,
                          int64_t depth, const Text& device) {
    return LoaderOptions{.batch_size = batch_size,
                         .shuffle = shuffle,
                         .drop_last = drop_last,
                         .seed = seed,
                         .backward = false,
                         .workers = workers,
                         .depth = depth,
                         .device = to_device(device)};
  };
  bind_batches(m);

  bind_loader<NeighborLoader>(m, "NeighborLoader", R"(Mini-batches of sampled neighbourhoods (GraphSAGE).

seeds: nodes, integers [S], or a mask. fanouts: sampled in-edges per node and layer, from the seeds outwards; -1: all.
workers: threads that prefetch batches. device: where the batches are.)")
      .def(
          "__init__",
          [loading](Epochs<NeighborLoader>* self, const Dataset& data, nb::handle seeds,
                    std::vector<int64_t> fanouts, int64_t batch_size, bool shuffle, bool drop_last,
                    bool replace, bool weighted, bool labor, uint64_t seed, int workers, int64_t depth,
                    const Text& device) {
            construct(self, data, to_indices("seeds", seeds, data.num_nodes()),
                      NeighborLoaderOptions{
                          .sampling = {std::move(fanouts), replace, weighted, labor},
                          .loading = loading(batch_size, shuffle, drop_last, seed, workers, depth, device)});
          },
          nb::arg("data"), nb::arg("seeds"), nb::arg("fanouts"), nb::arg("batch_size") = 1024, shuffle,
          drop_last, nb::arg("replace") = false, nb::arg("weighted") = false, nb::arg("labor") = false, seed,
          workers, depth, device);

  bind_loader<LinkLoader>(
      m, "LinkLoader",
      R"(Mini-batches of positive and negative pairs with their sampled neighbourhoods, for link prediction.

pairs: the positive ones, [2, P] or (src, dst); default: all edges. negatives: drawn per positive pair.
exclude: remove the batch's pairs from the edges of its blocks.)")
      .def(
          "__init__",
          [loading](Epochs<LinkLoader>* self, const Dataset& data, nb::handle pairs,
                    std::vector<int64_t> fanouts, int64_t batch_size, int64_t negatives, bool exclude,
                    bool shuffle, bool drop_last, uint64_t seed, int workers, int64_t depth,
                    const Text& device) {
            const EdgeIndex positive = pairs.is_none() ? without_gil([&] { return linked_pairs(data.graph); })
                                                       : to_edges("pairs", pairs);
            construct(self, data.graph, data.x, positive,
                      LinkLoaderOptions{
                          .sampling = {.fanouts = std::move(fanouts)},
                          .negatives = negatives,
                          .exclude = exclude,
                          .loading = loading(batch_size, shuffle, drop_last, seed, workers, depth, device)});
          },
          nb::arg("data"), nb::arg("pairs") = nb::none(), nb::kw_only(), nb::arg("fanouts"),
          nb::arg("batch_size") = 1024, nb::arg("negatives") = 1, nb::arg("exclude") = true, shuffle,
          drop_last, seed, workers, depth, device);

  bind_loader<ClusterLoader>(m, "ClusterLoader", R"(Mini-batches of clusters (Cluster-GCN).

parts: number of METIS parts; 0: the dataset's own part.)")
      .def(
          "__init__",
          [loading](Epochs<ClusterLoader>* self, const Dataset& data, nb::handle seeds, int64_t parts,
                    int64_t parts_per_batch, bool shuffle, uint64_t seed, int workers, int64_t depth,
                    const Text& device) {
            construct(self, data, to_indices("seeds", seeds, data.num_nodes()),
                      ClusterLoaderOptions{
                          .parts = parts,
                          .loading = loading(parts_per_batch, shuffle, false, seed, workers, depth, device)});
          },
          nb::arg("data"), nb::arg("seeds"), nb::arg("parts") = 0, nb::arg("parts_per_batch") = 1, shuffle,
          seed, workers, depth, device);

  nb::enum_<SaintMethod>(m, "SaintMethod")
      .value("node", SaintMethod::node)
      .value("edge", SaintMethod::edge)
      .value("walk", SaintMethod::walk);
  nb::enum_<PropagationMatrix>(m, "PropagationMatrix")
      .value("none", PropagationMatrix::none)
      .value("sum", PropagationMatrix::sum)
      .value("mean", PropagationMatrix::mean)
      .value("gcn", PropagationMatrix::gcn);
  bind_loader<SaintLoader>(m, "SaintLoader", R"(Mini-batches of sampled subgraphs (GraphSAINT).

method: how nodes are drawn, with `budget` draws per subgraph. steps: subgraphs per epoch; 0: until as many nodes are
drawn as the graph has. coverage, matrix: normalisation of loss (batch.weight) and sums (batch.edge_weight).)")
      .def(
          "__init__",
          [loading](Epochs<SaintLoader>* self, const Dataset& data, nb::handle seeds, SaintMethod method,
                    int64_t budget, int64_t walk_length, int64_t steps, int64_t coverage,
                    PropagationMatrix matrix, uint64_t seed, int workers, int64_t depth, const Text& device) {
            LoaderOptions options = loading(0, false, false, seed, workers, depth, device);
            options.steps = steps;
            construct(self, data, to_indices("seeds", seeds, data.num_nodes()),
                      SaintLoaderOptions{.sampling = {method, budget, walk_length},
                                         .coverage = coverage,
                                         .matrix = matrix,
                                         .loading = options});
          },
          nb::arg("data"), nb::arg("seeds"), nb::arg("method") = SaintMethod::walk, nb::arg("budget") = 1000,
          nb::arg("walk_length") = 2, nb::arg("steps") = 0, nb::arg("coverage") = 50,
          nb::arg("matrix") = PropagationMatrix::none, seed, workers, depth, device);

  bind_loader<GraphLoader>(m, "GraphLoader", R"(Mini-batches of whole graphs, for a dataset of many graphs.

which: indices of the graphs, integers [K], or a mask.)")
      .def(
          "__init__",
          [loading](Epochs<GraphLoader>* self, const Dataset& data, nb::handle which, int64_t batch_size,
                    bool shuffle, bool drop_last, int64_t iterations, uint64_t seed, int workers,
                    int64_t depth, const Text& device) {
            ADJ_CHECK(data.graph_offsets, "GraphLoader: {} has no graph_offsets", data.name);
            LoaderOptions options = loading(batch_size, shuffle, drop_last, seed, workers, depth, device);
            options.steps = iterations;
            construct(self, data, to_indices("which", which, data.graph_offsets.numel() - 1), options);
          },
          nb::arg("data"), nb::arg("which"), nb::arg("batch_size") = 32, shuffle, drop_last,
          nb::arg("iterations") = 0, seed, workers, depth, device);
}

}  // namespace adj::python
