#include "../support.h"
#include "schema.h"
#include <adjoint/graph/ranks/rank_edges.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Edges {
  const char* name;
  int64_t nodes = 0;
  std::vector<int32_t> src = {}, dst = {};
  bool symmetric = false;  ///< with these weights too

  void add(int64_t source, int64_t target) {
    src.push_back(static_cast<int32_t>(source));
    dst.push_back(static_cast<int32_t>(target));
  }
};

std::vector<Edges> all_edges() {
  std::mt19937 random(3);
  const auto node = [&](int64_t below) { return static_cast<int64_t>(random()) % below; };
  std::vector<Edges> all;
  all.push_back({"no edges", 5});
  all.push_back({"fewer nodes than ranks", 3});
  for (int e = 0; e < 7; ++e) all.back().add(node(3), node(3));
  all.push_back({"one node with loops", 1});
  for (int e = 0; e < 3; ++e) all.back().add(0, 0);
  all.push_back({"a hub, loops, parallel edges, nodes without any", 300});
  for (int e = 0; e < 2500; ++e)
    all.back().add(e % 3 == 0 ? 150 : node(300), e % 5 == 0 ? 150 : 7 * node(300) / 8);
  all.push_back({"several loops of a node", 200});
  for (int e = 0; e < 900; ++e) {
    const int64_t target = node(200);
    all.back().add(e % 3 == 0 ? target : node(200), target);
  }
  all.push_back({"several loops of every node", 40});
  for (int e = 0; e < 80; ++e) all.back().add(e % 40, e % 40), all.back().add(node(40), node(40));
  all.push_back({"one loop of every node", 200});
  for (int i = 0; i < 200; ++i) all.back().add(i, (i * 7 + 1) % 200), all.back().add(i, i);
  all.push_back({"one direction without loops", 100});
  for (int e = 0; e < 400; ++e) {
    const int64_t target = node(99);
    all.back().add(target + 1 + node(99 - target), target);
  }
  all.push_back({"both directions", 250, {}, {}, true});
  for (int e = 0; e < 700; ++e) {
    const int64_t a = node(250), b = e % 4 == 0 ? (a + 1) % 250 : node(250);  // parallel ones too
    all.back().add(a, b);
    if (a != b) all.back().add(b, a);
  }
  all.push_back({"both directions with other weights", 250, all.back().src, all.back().dst});
  return all;
}

/// Those of parallel edges differ; if `symmetric`, both directions have the same, in opposite order.
Tensor weights_of(const Edges& edges) {
  std::map<std::pair<int32_t, int32_t>, int> copies, seen;
  for (size_t e = 0; e < edges.src.size(); ++e) ++copies[{edges.src[e], edges.dst[e]}];
  std::vector<float> weight;
  for (size_t e = 0; e < edges.src.size(); ++e) {
    const std::pair edge{edges.src[e], edges.dst[e]};
    const int copy = seen[edge]++;
    const bool turned = edges.symmetric && edge.first > edge.second;
    const auto between = static_cast<float>((int64_t{edge.first} + edge.second) * 31 % 11);
    weight.push_back(0.1f + 0.37f * between +
                     0.3f * static_cast<float>(turned ? copies[edge] - 1 - copy : copy) +
                     (edges.symmetric || edge.first < edge.second ? 0.0f : 0.05f));
  }
  return Tensor::from(weight);
}

SchemaFile file_of(const Edges& edges, DType dtype, bool weighted) {
  SchemaFile file;
  file.attributes = {{"format", "adjoint.graph"},
                     {"version", 1},
                     {"num_nodes", edges.nodes},
                     {"num_classes", std::min<int64_t>(edges.nodes, 2)},
                     {"name", "one"},
                     {"task", "node_class"}};
  std::vector<int32_t> y(uz(edges.nodes));
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(i % 2);
  file.datasets = {{"edges/src", Tensor::from(edges.src).to(dtype)},
                   {"edges/dst", Tensor::from(edges.dst).to(dtype)},
                   {"nodes/y", Tensor::from(y)}};
  if (!weighted) return file;
  const int64_t count = std::ssize(edges.src);
  std::vector<int64_t> times(uz(count));
  std::iota(times.begin(), times.end(), int64_t{1} << 40);
  file.datasets["edges/weight"] = weights_of(edges);
  file.datasets["edges/time"] = Tensor::from(times);
  file.datasets["edges/attr"] = random_tensor({count, 3});
  return file;
}

/// Rows [begin, end) of a structure: their lengths and columns.
std::pair<std::vector<int64_t>, std::vector<int32_t>> rows_between(const Csr& csr, int64_t begin,
                                                                   int64_t end) {
  const auto offsets = csr.offsets.to_vector<int64_t>();
  const auto indices = csr.indices.to_vector<int32_t>();
  std::vector<int64_t> lengths;
  for (int64_t i = begin; i < end; ++i) lengths.push_back(offsets[uz(i) + 1] - offsets[uz(i)]);
  return {lengths, {indices.begin() + offsets[uz(begin)], indices.begin() + offsets[uz(end)]}};
}

/// The values of these rows in the order of entries; ones if absent.
std::vector<float> values_between(const CsrMatrix& a, int64_t begin, int64_t end) {
  const auto offsets = a.csr.offsets.to_vector<int64_t>();
  const auto first = uz(offsets[uz(begin)]), last = uz(offsets[uz(end)]);
  if (!a.values) return std::vector<float>(last - first, 1.0f);
  const auto values = a.values.to_vector<float>();
  const auto order = a.order ? a.order.to_vector<int32_t>() : std::vector<int32_t>();
  std::vector<float> found;
  for (size_t e = first; e < last; ++e) found.push_back(values[order.empty() ? e : uz(order[e])]);
  return found;
}

/// Whether a rank's structure, whose columns are rows of source_rows(), is rows [begin, end) of `whole`.
bool same_rows(const Relation& part, const Csr& rows, const Csr& whole, int64_t begin, int64_t end) {
  std::vector<float> numbers(uz(end - begin));
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(begin));
  const auto names = part.source_rows(Tensor::from(numbers, {end - begin, 1})).to_vector<float>();
  auto [lengths, columns] = rows_between(rows, 0, rows.rows);
  for (int32_t& column : columns) column = static_cast<int32_t>(names[uz(column)]);
  const CsrSizes sizes = rows.whole_sizes(), wanted = whole.whole_sizes();
  return std::pair(lengths, columns) == rows_between(whole, begin, end) && sizes.rows == wanted.rows &&
         sizes.entries == wanted.entries;
}

bool same_matrix(const SparseMatrix& part, const SparseMatrix& whole, int64_t begin, int64_t end) {
  const Relation &rows = part.relation(), &all = whole.relation();
  const bool forward = same_rows(rows, rows.csr(), all.csr(), begin, end);  // all ranks make both calls
  const bool backward = same_rows(rows.reversed(), rows.transposed(), all.transposed(), begin, end);
  const int64_t n = end - begin;
  return forward && backward &&
         values_between(part.matrix(), 0, n) == values_between(whole.matrix(), begin, end) &&
         values_between(part.adjoint(), 0, n) == values_between(whole.adjoint(), begin, end);
}

bool same_bits_between(const Tensor& part, const Tensor& all, int64_t begin, int64_t end) {
  return bool{part} == bool{all} && (!part || same_bits(part, all.rows(begin, end)));
}

void check_part(const Graph& part, const Graph& whole, const RankRows& rank) {
  const int64_t begin = rank.begin(), end = rank.end();
  CHECK(part.num_nodes() == end - begin);
  CHECK(part.is_symmetric() == whole.is_symmetric());
  CHECK(part.has_self_loops() == whole.has_self_loops());
  CHECK(part.whole_sizes().rows == whole.num_nodes());
  CHECK(part.whole_sizes().entries == whole.num_edges());
  CHECK(same_bits(part.whole_offsets(), whole.in_edges().offsets));
  CHECK(same_matrix(SparseMatrix(part.relation(), {}, {}), SparseMatrix(whole.relation()), begin, end));
  for (const auto& [rows, all] : {std::pair(&part.adjacency(), &whole.adjacency()),
                                  {&part.mean_adjacency(), &whole.mean_adjacency()},
                                  {&part.gcn_adjacency(), &whole.gcn_adjacency()},
                                  {&part.gcn_adjacency(2), &whole.gcn_adjacency(2)},
                                  {&part.gcn_adjacency(0), &whole.gcn_adjacency(0)}}) {
    CHECK(same_matrix(*rows, *all, begin, end));
    CHECK(bool{rows->values()} == bool{all->values()});
  }
  CHECK(same_bits_between(part.in_degrees(), whole.in_degrees(), begin, end));
  CHECK(same_bits_between(part.out_degrees(), whole.out_degrees(), begin, end));
  const auto offsets = whole.in_edges().offsets.to_vector<int64_t>();
  const int64_t first = offsets[uz(begin)], last = offsets[uz(end)];
  CHECK(part.num_edges() == last - first);
  CHECK(same_bits_between(part.edge_weight(), whole.edge_weight(), first, last));
  REQUIRE(part.edge_attributes().size() == whole.edge_attributes().size());
  for (const auto& [name, attribute] : whole.edge_attributes())
    CHECK(same_bits_between(part.edge_attr(name), attribute, first, last));
}

RankRows rows_of(const Group& group, const Graph& graph) { return {group, RowCut(graph.whole_offsets())}; }

}  // namespace

TEST_CASE_FIXTURE(InFolder, "ranks that read their own edges have the rows of the whole, to the bit") {
  for (const Edges& edges : all_edges())
    for (const DType dtype : {DType::i32, DType::i64})
      for (const bool weighted : {false, true}) {
        const std::string path = folder.file("graph.h5");
        file_of(edges, dtype, weighted).write(path, dtype == DType::i64 ? 4 : 0);
        const Dataset whole = load_dataset(path);
        if (edges.symmetric) REQUIRE(whole.graph.is_symmetric());
        for (const int64_t ranks : {1, 2, 3, 8}) {
          CAPTURES(edges.name, name_of(dtype), weighted, ranks);
          std::atomic<int64_t> ending = 0, beginning = 0, most = 0;
          run_ranks(ranks, [&](const Group& group) {
            const Dataset read = load_dataset(path, {.ranks = group});
            const RankRows rank = rows_of(group, read.graph);
            CHECK(read.num_nodes() == edges.nodes);
            CHECK(fingerprint(read) == fingerprint(whole));
            const Graph part = read.graph.rank_rows(rank);
            check_part(part, whole.graph, rank);
            check_part(whole.graph.rank_rows(rank), whole.graph, rank);
            if (weighted) {
              const Graph bare = read.graph.with_edge_weight({});
              check_part(bare.rank_rows(rank), whole.graph.with_edge_weight({}), rank);
            }
            // Nothing new where nothing is added.
            const bool same = part.gcn_adjacency().relation() == part.relation();
            CHECK(same == (std::string(edges.name) == "one loop of every node"));
            ending += part.relation().csr().entries();
            beginning += part.relation().transposed().entries();
            if (read.graph.num_edges() > most) most = read.graph.num_edges();
          });
          const int64_t count = std::ssize(edges.src);
          CHECK(ending == count);  // of all ranks together
          CHECK(beginning == count);
          if (ranks > 1 && edges.nodes > 90) CHECK(most < count * 4 / 5);
        }
      }
}

TEST_CASE_FIXTURE(InFolder, "a list of many chunks keeps its order") {
  std::mt19937 random(8);
  Edges edges{"many", 900};
  for (int64_t e = 0; e < 1'900'000; ++e)
    edges.add(static_cast<int64_t>(random()) % 900, static_cast<int64_t>(random()) % 900);
  SchemaFile file = file_of(edges, DType::i32, false);
  std::vector<float> weight(edges.src.size());
  std::iota(weight.begin(), weight.end(), 1.0f);
  file.datasets["edges/weight"] = Tensor::from(weight);
  const std::string path = folder.file("graph.h5");
  file.write(path);
  const Graph whole = load_dataset(path).graph;
  const auto offsets = whole.in_edges().offsets.to_vector<int64_t>();
  run_ranks(3, [&](const Group& group) {
    const Graph read = load_dataset(path, {.ranks = group}).graph;
    const RankRows rank = rows_of(group, read);
    const Graph part = read.rank_rows(rank);
    CHECK(same_bits(part.edge_weight(),
                    whole.edge_weight().rows(offsets[uz(rank.begin())], offsets[uz(rank.end())])));
    CHECK(same_matrix(part.adjacency(), whole.adjacency(), rank.begin(), rank.end()));
    CHECK(std::abs(part.num_edges() - 1'900'000 / 3) < 60'000);
  });
  file.datasets["edges/dst"].mutable_data<int32_t>()[1'700'000] = 900;
  file.write(path);
  run_ranks(2, [&](const Group& group) {
    CHECK(error_of<DataError>([&] { (void)load_dataset(path, {.ranks = group}); }) ==
          path + ": edges/dst: 900 at position 1700000, expected 0 to 899");
  });
}

TEST_CASE_FIXTURE(InFolder, "what is wrong with edges is refused by every rank, in the words of one") {
  const auto floats = [](std::vector<float> x) { return Tensor::from(x); };
  const Tensor graphs = Tensor::from(std::vector<int64_t>{0, 3, 6});
  const std::vector<SchemaChange> faults{poke<int32_t>("edges/src", 6, 3),
                                         poke<int32_t>("edges/dst", -1, 7),
                                         put("edges/dst", Tensor::from(std::vector<int32_t>{1, 2})),
                                         put("edges/src", floats({1, 2, 3, 4, 5, 6, 7, 8})),
                                         gone({"edges/dst"}),
                                         poke<float>("edges/weight", NAN, 5),
                                         put("edges/weight", floats({1, 2})),
                                         poke<float>("edges/attr", INFINITY, 15),
                                         put("edges/time", Tensor::from(std::vector<int64_t>{1})),
                                         put("graphs/offsets", graphs)};
  for (const SchemaChange& fault : faults) {
    SchemaFile file = small_file();
    fault(file);
    const std::string path = folder.file("wrong.h5");
    file.write(path);
    const std::string wanted = error_of<DataError>([&] { (void)load_dataset(path); });
    REQUIRE(wanted != "");
    std::atomic<int> refused = 0;
    run_ranks(3, [&](const Group& group) {
      refused += error_of<DataError>([&] { (void)load_dataset(path, {.ranks = group}); }) == wanted;
    });
    CAPTURES(wanted);
    CHECK(refused == 3);
  }
}

TEST_CASE_FIXTURE(InFolder, "ranks whose files have other edges are refused") {
  small_file().write(folder.file("0.h5"));
  for (const SchemaChange& change : {poke<int32_t>("edges/src", 1, 3), poke<float>("edges/weight", 3.5f, 2),
                                     poke<float>("edges/attr", 3.5f, 2), gone({"edges/weight"})}) {
    SchemaFile other = small_file();
    change(other);
    other.write(folder.file("1.h5"));
    CHECK_ERROR_HAS(run_ranks(2,
                              [&](const Group& group) {
                                const std::string path = folder.file(group.rank() == 0 ? "0.h5" : "1.h5");
                                (void)load_dataset(path, {.ranks = group});
                              }),
                    "edges: rank 1 has '6 nodes, 8 edges, contents ");
  }
}

TEST_CASE_FIXTURE(InFolder, "labels of edges keep the whole list") {
  SchemaFile file = small_file();
  file.datasets["edges/y"] = Tensor::from(std::vector<int32_t>{0, 1, 0, 1, 0, 1, 0, 1});
  const std::string path = folder.file("labelled.h5");
  file.write(path);
  run_ranks(2, [&](const Group& group) {
    const Dataset read = load_dataset(path, {.ranks = group});
    CHECK(read.graph.num_edges() == 8);
    CHECK(read.graph.rank() == nullptr);
    CHECK(fingerprint(read) == fingerprint(load_dataset(path)));
  });
}

TEST_CASE_FIXTURE(InFolder, "the edges of a rank's nodes keep to what they can answer") {
  Edges ring{"ring", 16};
  for (int i = 0; i < 16; ++i) ring.add(i, (i + 1) % 16);
  const std::string path = folder.file("ring.h5");
  file_of(ring, DType::i32, true).write(path);
  const Graph whole = load_dataset(path).graph;
  run_ranks(2, [&](const Group& group) {
    const Graph edges = load_dataset(path, {.ranks = group}).graph;
    const RankRows rank = rows_of(group, edges);
    REQUIRE(edges.rank() != nullptr);
    CHECK(edges.rank()->group.rank() == group.rank());
    CHECK(edges.num_nodes() == 16);
    CHECK(edges.num_edges() == 8);
    CHECK_ERROR_HAS((void)edges.adjacency(), "expected rank_rows()");
    CHECK_ERROR_HAS((void)edges.mean_adjacency(), "expected rank_rows()");
    CHECK_ERROR_HAS((void)edges.gcn_adjacency(), "expected rank_rows()");
    CHECK_ERROR_HAS((void)edges.with_edge_weight(edges.edge_weight()), "before the graph is cut");
    CHECK_ERROR_HAS((void)edges.rank_rows({group, RowCut({0, 4, 16})}), "expected those of the cut, ");
    CHECK_ERROR_HAS((void)edges.rank_rows(rank).rank_rows(rank), "expected the whole graph");
    const Tensor& offsets = edges.whole_offsets();
    CHECK_ERROR_HAS((void)Graph::from_rank_edges(rank, offsets, whole, whole),
                    "16 in-edges and 16 out-edges");
    CHECK_ERROR_HAS((void)Graph::from_rank_edges(rank, offsets.rows(0, 3), edges, edges),
                    "expected int64 [17]");
  });
}
