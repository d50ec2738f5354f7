#include "../reference/plain.h"
#include <adjoint/data/dataset.h>
#include <adjoint/data/generators.h>
#include <adjoint/graph/transforms.h>

#include <set>

using namespace adj;
using namespace adj::test;

namespace {

Dataset small(bool sparse) {
  CitationOptions options;
  options.nodes = 300;
  options.classes = 3;
  options.features = 20;
  options.val = 30;
  options.test = 60;
  Dataset data = make_citation_dataset(options);
  if (!sparse) data.x = Features(data.x.to_dense());
  return data;
}

// With one element of `tensor` one more than it was.
Tensor changed(const Tensor& tensor) {
  std::vector<double> all = values(tensor);
  all[all.size() - 1] += 1.0;
  return Tensor::from(all, tensor.shape()).to(tensor.dtype()).to(tensor.device());
}

}  // namespace

TEST_CASE("a fingerprint says what the data are, on any device, and does not change") {
  for (bool sparse : {false, true}) {
    const Dataset data = small(sparse);
    const std::string mark = fingerprint(data);
    CHECK(mentions(mark, "300 nodes"));
    CHECK(mentions(mark, "20 features, 3 classes, contents "));
    CHECK(fingerprint(small(sparse)) == mark);
    for (Device device : devices()) CHECK(fingerprint(data.to(device)) == mark);
  }
  Dataset bare;
  bare.graph = small(true).graph;
  CHECK(mentions(fingerprint(bare), "300 nodes"));
}

TEST_CASE("one number that is another gives another fingerprint") {
  const Dataset data = small(false), sparse = small(true);
  std::set<std::string> marks{fingerprint(data), fingerprint(sparse)};
  const auto other = [&](auto&& change) {
    Dataset copy = data;
    change(copy);
    CHECK(marks.insert(fingerprint(copy)).second);
  };
  other([](Dataset& d) { d.name = "another"; });
  other([](Dataset& d) { d.y = changed(d.y); });
  other([](Dataset& d) { d.train = changed(d.train); });
  other([](Dataset& d) { d.val = changed(d.val); });
  other([](Dataset& d) { d.test = changed(d.test); });
  other([](Dataset& d) { std::swap(d.val, d.test); });
  other([](Dataset& d) { d.x = Features(changed(d.x.dense())); });
  other([](Dataset& d) { d.x = Features(d.x.dense().to(DType::bf16)); });
  other([](Dataset& d) {
    d.graph = d.graph.with_edge_attr("attr", Tensor::zeros({d.graph.num_edges(), 2}));
  });
  other([](Dataset& d) {
    d.graph = remove_self_loops(add_self_loops(d.graph, 2.0f));
    d.graph = add_self_loops(d.graph);
  });
  other([&](Dataset& d) {
    const SparseMatrix x = sparse.x.sparse();
    d.x = x.with_values(x.values() ? changed(x.values()) : Tensor::full({x.entries()}, 2.0));
  });
}
