#include <adjoint/core/text.h>
#include <adjoint/data/import/imported_edges.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <cmath>

namespace adj {

namespace {

constexpr int64_t kGrain = 1 << 16;

/// Sorted by source, then target, without duplicates. Works in the list's memory, since 64-bit keys have the
/// same size.
EdgeIndex distinct(EdgeIndex edges) {
  const int64_t count = edges.src.numel();
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  {
    const int32_t *src = edges.src.data<int32_t>(), *dst = edges.dst.data<int32_t>();
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e)
        keys[static_cast<size_t>(e)] = static_cast<uint64_t>(src[e]) << 32 | static_cast<uint32_t>(dst[e]);
    });
  }
  edges = {};
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto left = static_cast<int64_t>(keys.size());
  EdgeIndex result{Tensor::empty({left}, DType::i32), Tensor::empty({left}, DType::i32)};
  int32_t *src = result.src.mutable_data<int32_t>(), *dst = result.dst.mutable_data<int32_t>();
  for (int64_t e = 0; e < left; ++e) {
    src[e] = static_cast<int32_t>(keys[static_cast<size_t>(e)] >> 32);
    dst[e] = static_cast<int32_t>(keys[static_cast<size_t>(e)] & 0xffffffffu);
  }
  return result;
}

/// Without the first `skipped`, each reduced by `less`.
template <class T>
Tensor taken(GrowingRows<T>& rows, int64_t room, size_t skipped, T less) {
  Tensor all = Tensor::empty({room}, dtype_of<T>());
  rows.drain([target = all.template mutable_data<T>(), skipped, less](std::span<const T> values) mutable {
    values = values.subspan(skipped);
    skipped = 0;
    target = less == T{} ? std::copy(values.begin(), values.end(), target)
                         : std::transform(values.begin(), values.end(), target,
                                          [=](T value) { return value - less; });
  });
  return all;
}

void expect_finite(const std::string& file, const Graph& graph, const NodeIds& ids) {
  const float* weight = graph.edge_weight().data<float>();
  const float* const end = weight + graph.num_edges();
  const float* const bad = std::find_if_not(weight, end, [](float w) { return std::isfinite(w); });
  if (bad == end) return;
  const EdgeIndex edges = graph.edge_index();
  const int64_t e = bad - weight;
  data_fail("{}: weights of the edges from {} to {} add up to {}, expected a sum within float32",
            excerpt(file), excerpt(ids.text(edges.src.data<int32_t>()[e])),
            excerpt(ids.text(edges.dst.data<int32_t>()[e])), *bad);
}

}  // namespace

std::string detail::zero_weights(const Tensor& weight) {
  if (!weight) return "";
  const std::vector<float> sums = weight.to_vector<float>();
  const auto zeros = std::ranges::count(sums, 0.0f);
  return zeros == 0 ? "" : fmt::format("; {} of {} merged weights are 0", zeros, sums.size());
}

void ImportedEdges::append(int32_t src, int32_t dst, const EdgeValues& values) {
  if (src == dst) {
    if (drop_self_loops_) {
      if (dropped_++ > 0) return;
      dropped_node_ = src;
      dropped_line_ = values.line;
      return;
    }
    ++loops_;
  }
  zeros_ += values.weight == 0.0f;
  src_.append(src);
  dst_.append(dst);
  if (weighted_) weight_.append(values.weight);
  if (labels_ == Task::edge_class) label_.append(values.label);
  if (labels_ == Task::edge_regression) target_.append(values.target);
}

std::string ImportedEdges::dropped_note(const NodeIds& ids) const {
  const std::string first = dropped_ == 0        ? ""
                            : dropped_line_ == 0 ? fmt::format(" of '{}'", excerpt(ids.text(dropped_node_)))
                                                 : fmt::format(" in line {}", dropped_line_);
  return fmt::format("{} self-loop{} dropped{}{}", dropped_, dropped_ == 1 ? "" : "s",
                     first.empty() ? "" : ", the first", first);
}

int64_t ImportedEdges::count_lone(int64_t nodes) const {
  std::vector<uint8_t> degree(static_cast<size_t>(nodes));  // 2 means two or more
  const auto is_one = [&](int32_t node) { return degree[static_cast<size_t>(node)] == 1; };
  for (const GrowingRows<int32_t>* ends : {&src_, &dst_})
    ends->for_each([&](int32_t node) {
      uint8_t& d = degree[static_cast<size_t>(node)];
      d = std::min<uint8_t>(2, d + 1);
    });
  std::vector<bool> lone;
  src_.for_each([&](int32_t node) { lone.push_back(is_one(node)); });
  int64_t count = 0;
  dst_.for_each([&, edge = size_t{0}](int32_t node) mutable { count += lone[edge++] && is_one(node); });
  return count;
}

std::vector<bool> ImportedEdges::ends(const GrowingRows<int32_t>& column, int64_t nodes) const {
  std::vector<bool> found(static_cast<size_t>(nodes));
  const int32_t less = forgotten_ ? 2 : 0;
  column.for_each([&](int32_t node) {
    if (node >= less) found[static_cast<size_t>(node - less)] = true;
  });
  return found;
}

int64_t ImportedEdges::count_both_ends(int64_t nodes) const {
  const std::vector<bool> as_source = sources(nodes), as_target = ends(dst_, nodes);
  int64_t both = 0;
  for (size_t k = 0; k < as_source.size(); ++k) both += as_source[k] && as_target[k];
  return both;
}

int64_t ImportedEdges::count_pure_targets(int64_t nodes) const {
  return count_both_ends(nodes) > 0 ? -1 : std::ranges::count(ends(dst_, nodes), true);
}

Graph ImportedEdges::graph(const std::string& file, const NodeIds& ids, bool undirected, bool coalesced) {
  const int64_t entries = size(), all = size(undirected);
  if (all == 0) data_fail("{}: no edges, expected some", excerpt(file));
  if (all > kMost)
    data_fail("{}: {} edges in both directions, expected {} at most", excerpt(file), all, kMost);
  const size_t skipped = forgotten_;
  const int32_t less = forgotten_ ? 2 : 0;
  EdgeIndex edges{taken(src_, all, skipped, less), taken(dst_, all, skipped, less)};
  Tensor weight;
  if (weighted_) weight = taken(weight_, all, skipped, 0.0f);
  if (labels_ == Task::edge_class) listed_labels_ = taken(label_, entries, skipped, 0);
  if (labels_ == Task::edge_regression)
    listed_labels_ = taken(target_, entries, skipped, 0.0f).reshape({entries, 1});
  if (undirected) {
    int32_t *src = edges.src.mutable_data<int32_t>(), *dst = edges.dst.mutable_data<int32_t>();
    float* w = weight ? weight.mutable_data<float>() : nullptr;
    Tensor listed = listed_labels_ ? detail::iota(all, Device::cpu()) : Tensor();
    int32_t* line = listed ? listed.mutable_data<int32_t>() : nullptr;
    for (int64_t e = 0, next = entries; e < entries; ++e) {
      if (src[e] == dst[e]) continue;
      src[next] = dst[e];
      dst[next] = src[e];
      if (w != nullptr) w[next] = w[e];
      if (line != nullptr) line[next] = static_cast<int32_t>(e);
      ++next;
    }
    if (listed) listed_labels_ = detail::gather_edges(listed_labels_, listed);
  }
  if (coalesced && weight) {
    Graph merged = coalesce(Graph::from_coo(ids.size(), edges.src, edges.dst, weight));
    expect_finite(file, merged, ids);
    return merged;
  }
  if (coalesced) edges = distinct(std::move(edges));
  return Graph(Relation::from_coo(ids.size(), ids.size(), edges.src, edges.dst), std::move(weight));
}

}  // namespace adj
