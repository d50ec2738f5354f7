#pragma once

#include "../support.h"

// Parts of datasets as vectors, for comparison with literals.

namespace adj::test {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using F = std::vector<float>;
using Names = std::vector<std::string>;

inline I sources(const Dataset& d) { return d.graph.in_edges().indices.to_vector<int32_t>(); }
inline L offsets(const Dataset& d) { return d.graph.in_edges().offsets.to_vector<int64_t>(); }
inline F attributes(const Dataset& d) { return d.graph.edge_attr("attr").to_vector<float>(); }
inline F weights(const Dataset& d) { return d.graph.edge_weight().to_vector<float>(); }
inline F features(const Dataset& d) { return d.x.to_dense().to_vector<float>(); }
inline I classes(const Dataset& d) { return d.y.to_vector<int32_t>(); }
inline I train_of(const Dataset& d) { return d.train.to_vector<int32_t>(); }
inline I val_of(const Dataset& d) { return d.val.to_vector<int32_t>(); }
inline I test_of(const Dataset& d) { return d.test.to_vector<int32_t>(); }

/// The names of the nodes.
inline Names names(const Dataset& d) {
  const auto bytes = d.node_names.to_vector<uint8_t>();
  const auto bounds = d.node_name_offsets.to_vector<int64_t>();
  Names all;
  for (size_t k = 0; k + 1 < bounds.size(); ++k)
    all.emplace_back(bytes.begin() + bounds[k], bytes.begin() + bounds[k + 1]);
  return all;
}

/// Equal bits, or absent in both.
inline bool same(const Tensor& a, const Tensor& b) { return a && b ? same_bits(a, b) : !a && !b; }

/// Checks that two datasets have the same bits; `a` may have more edge attributes.
inline void check_same(const Dataset& a, const Dataset& b) {
  CHECK(a.name == b.name);
  CHECK(a.task == b.task);
  CHECK(a.classes == b.classes);
  CHECK(a.undirected == b.undirected);
  CHECK(same_bits(a.graph.in_edges().offsets, b.graph.in_edges().offsets));
  CHECK(same_bits(a.graph.in_edges().indices, b.graph.in_edges().indices));
  CHECK(same(a.graph.edge_weight(), b.graph.edge_weight()));
  for (const auto& [name, attribute] : b.graph.edge_attributes())
    CHECK(same_bits(a.graph.edge_attr(name), attribute));
  REQUIRE(static_cast<bool>(a.x) == static_cast<bool>(b.x));
  REQUIRE(a.x.is_sparse() == b.x.is_sparse());
  if (a.x.is_sparse()) {
    CHECK(same_bits(a.x.sparse().relation().csr().offsets, b.x.sparse().relation().csr().offsets));
    CHECK(same_bits(a.x.sparse().relation().csr().indices, b.x.sparse().relation().csr().indices));
    CHECK(same_bits(a.x.sparse().values(), b.x.sparse().values()));
  } else if (a.x) {
    CHECK(same_bits(a.x.dense(), b.x.dense()));
  }
  for (Tensor Dataset::*const part : std::initializer_list<Tensor Dataset::*>{
           &Dataset::y, &Dataset::graph_offsets, &Dataset::graph_y, &Dataset::part, &Dataset::order,
           &Dataset::train, &Dataset::val, &Dataset::test, &Dataset::times})
    CHECK(same(a.*part, b.*part));
  REQUIRE(a.splits.size() == b.splits.size());
  for (size_t k = 0; k < a.splits.size(); ++k)
    for (const auto& part : {&Split::train, &Split::val, &Split::test})
      CHECK(same_bits(a.splits[k].*part, b.splits[k].*part));
}

/// The dataset that file.write() writes (schema.h).
template <class File>
Dataset load(const File& file, int gzip = 0) {
  const TemporaryDirectory folder;
  file.write(folder.file("small.h5"), gzip);
  return load_dataset(folder.file("small.h5"));
}

/// Written to a file and read again.
inline Dataset saved_and_loaded(const Dataset& d, int gzip = 0) {
  const TemporaryDirectory folder;
  save_dataset(d, folder.file("a.h5"), gzip);
  return load_dataset(folder.file("a.h5"));
}

}  // namespace adj::test
