// What one rank reads of the list of edges, which may be larger than its memory. Two passes, some megabytes
// at a time: the first counts the edges of every node, by which the nodes are cut, the second keeps those
// that begin or end at the rank's nodes, in the order of the list, so that sorting them gives the rows of the
// whole.
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/graph/ranks/rank_edges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace adj::detail {

namespace {

constexpr int64_t kChunk = int64_t{16} << 20;  // bytes

/// f(rows) for all edges, so many at a time that `width` bytes each make a chunk.
template <class F>
void for_chunks(int64_t edges, int64_t width, F&& f) {
  const int64_t step = std::max<int64_t>(1, kChunk / width);
  for (int64_t first = 0; first < edges; first += step) f(RowRange{first, std::min(first + step, edges)});
}

/// A column of the list of edges, of which the rows of some edges are kept.
struct Column {
  Tensor kept;
  int64_t next = 0;

  /// Appends the rows `chosen` of `chunk`.
  void add(const Tensor& chunk, const std::vector<int32_t>& chosen) {
    const size_t row = chunk.bytes() / static_cast<size_t>(chunk.size(0));
    if (row == 0) return;
    const auto* source = static_cast<const char*>(chunk.raw_data());
    auto* target = static_cast<char*>(kept.raw_mutable_data()) + row * static_cast<size_t>(next);
    for (size_t k = 0; k < chosen.size(); ++k)
      std::memcpy(target + k * row, source + row * static_cast<size_t>(chosen[k]), row);
    next += std::ssize(chosen);
  }
};

/// The columns of kept edges; of those that the file lacks nothing is kept.
struct KeptEdges {
  Column src, dst, weight, attr, time;
};

/// Sorted by `dst`, with numbers of this order.
Graph graph_of(int64_t nodes, const KeptEdges& edges, const Tensor& src, const Tensor& dst) {
  EdgeAttributes attributes;
  if (edges.attr.kept) attributes.emplace("attr", edges.attr.kept);
  if (edges.time.kept) attributes.emplace("time", edges.time.kept);
  const Graph listed = Graph::from_coo(nodes, src, dst, edges.weight.kept, attributes);
  return Graph(listed.relation(), listed.edge_weight(), listed.edge_attributes());
}

/// Positions at which a node is in [begin, end).
void choose(const Tensor& nodes, int64_t begin, int64_t end, std::vector<int32_t>& chosen) {
  chosen.clear();
  const int32_t* node = nodes.data<int32_t>();
  for (int64_t k = 0; k < nodes.numel(); ++k)
    if (node[k] >= begin && node[k] < end) chosen.push_back(static_cast<int32_t>(k));
}

}  // namespace

bool DatasetReader::reads_rank_edges() const {
  if (!options_.ranks || options_.ranks->size() == 1) return false;
  if (!file_.has("edges/y")) return true;
  log_info("{}: edges/y: labels are by the whole list, so each rank holds all edges", excerpt(file_.file()));
  return false;
}

/// int64 [N + 1]: where each node's edges would begin, of those that `path` lists.
Tensor DatasetReader::read_degrees(const std::string& path, int64_t edges) const {
  Tensor offsets = Tensor::zeros({*nodes_ + 1}, DType::i64);
  auto* count = offsets.mutable_data<int64_t>() + 1;
  for_chunks(edges, 12, [&](RowRange rows) {
    const Tensor nodes = values_.indices(path, edges, *nodes_, 0, rows);
    const int32_t* node = nodes.data<int32_t>();
    for (int64_t k = 0; k < nodes.numel(); ++k) ++count[node[k]];
  });
  std::partial_sum(count, count + *nodes_, count);
  return offsets;
}

void DatasetReader::read_rank_edges(const Group& group) {
  for (const char* path : {"edges/src", "edges/dst"}) file_.expect_integers(path, {kAny});
  const int64_t edges = file_.shape("edges/src")[0], targets = file_.shape("edges/dst")[0];
  const Tensor out_offsets = read_degrees("edges/src", edges), offsets = read_degrees("edges/dst", targets);
  if (targets != edges) file_.fail("edges/dst", "{} edges, but edges/src has {}", targets, edges);
  if (edges >= kLargest) file_.fail("edges/src", "{} edges, expected fewer than {}", edges, kLargest);
  num_edges_ = edges;

  const bool weighted = file_.has("edges/weight"), timed = file_.has("edges/time");
  int64_t columns = kAny;
  if (weighted) file_.expect_floats("edges/weight", {edges});
  if (file_.has("edges/attr")) {
    file_.expect_floats("edges/attr", {edges, kAny});
    columns = file_.shape("edges/attr")[1];
  }
  const RankRows rank{group, RowCut(offsets)};
  const auto room = [&](const Tensor& ends, bool attributes) {
    const int64_t n = ends.data<int64_t>()[rank.end()] - ends.data<int64_t>()[rank.begin()];
    KeptEdges kept{{Tensor::empty({n}, DType::i32)}, {Tensor::empty({n}, DType::i32)}, {}, {}, {}};
    if (weighted) kept.weight.kept = Tensor::empty({n});
    if (attributes && columns != kAny) kept.attr.kept = Tensor::empty({n, columns});
    if (attributes && timed) kept.time.kept = Tensor::empty({n}, DType::i64);
    return kept;
  };
  KeptEdges in = room(offsets, true), out = room(out_offsets, false);
  ContentHash hash;
  std::vector<int32_t> ending, beginning;  // of a chunk, at the rank's nodes
  const auto keep = [&](const Tensor& chunk, Column KeptEdges::*column) {
    hash.add(chunk);
    (in.*column).add(chunk, ending);
    if ((out.*column).kept) (out.*column).add(chunk, beginning);
  };
  for_chunks(edges, 20 + 4 * std::max<int64_t>(columns, 0), [&](RowRange rows) {
    const Tensor src = values_.indices("edges/src", edges, *nodes_, 0, rows),
                 dst = values_.indices("edges/dst", edges, *nodes_, 0, rows);
    if (data_.graph_offsets) check_graphs_apart(src, dst, rows.begin);
    choose(dst, rank.begin(), rank.end(), ending);
    choose(src, rank.begin(), rank.end(), beginning);
    keep(src, &KeptEdges::src);
    keep(dst, &KeptEdges::dst);
    if (weighted) keep(values_.floats("edges/weight", {edges}, rows), &KeptEdges::weight);
    if (columns != kAny) keep(values_.floats("edges/attr", {edges, columns}, rows), &KeptEdges::attr);
    if (timed) keep(values_.integers("edges/time", edges, rows), &KeptEdges::time);
  });
  read_edge_names(columns);
  // Before the ranks rely on it.
  const std::vector<std::string> found =
      group.gather(fmt::format("{} nodes, {} edges, contents {:016x}", *nodes_, edges, hash.result()));
  for (size_t other = 1; other < found.size(); ++other)
    if (found[other] != found[0])
      file_.fail("edges", "rank {} has '{}', and rank 0 '{}'; expected the same on all ranks", other,
                 found[other], found[0]);
  const Graph ending_here = graph_of(*nodes_, in, in.src.kept, in.dst.kept);
  in = {};
  const Graph beginning_here = graph_of(*nodes_, out, out.dst.kept, out.src.kept);
  out = {};
  data_.graph = Graph::from_rank_edges(rank, offsets, ending_here, beginning_here);
  data_.edges_hash = hash_rank_edges(data_);
}

}  // namespace adj::detail
