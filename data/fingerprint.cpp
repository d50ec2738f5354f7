#include <adjoint/data/dataset.h>

#include <bit>
#include <cstring>

namespace adj {

namespace {

/// Murmur3's mixing of 64-bit words (Appleby, public domain): no defence against intent, which is not needed.
class Hash {
 public:
  void add(uint64_t word) {
    word = std::rotl(word * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
    state_ = std::rotl(state_ ^ word, 27) * 5 + 0x52dce729u;
  }
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    for (const char c : text) add(uint64_t{static_cast<unsigned char>(c)});
  }
  /// Shape, dtype and contents; an absent tensor is not an empty one.
  void add(const Tensor& tensor) {
    add(uint64_t{tensor ? 1u : 0u});
    if (!tensor) return;
    add_form(tensor.dtype(), tensor.shape());
    add(add_words(tensor.to(Device::cpu())));
  }
  /// As the same matrix in memory. All blocks but the last are of whole words.
  void add(const FileRows& rows) {
    add(uint64_t{1});
    add_form(DType::f32, {rows.rows(), rows.cols()});
    uint64_t rest = 0;
    rows.for_blocks([&](int64_t, const Tensor& block) { rest = add_words(block); });
    add(rest);
  }
  void add(const Relation& relation) {
    add(relation.csr().offsets);
    add(relation.csr().indices);
  }
  /// What belongs to its edges, beside them, however they are numbered.
  void add(const Relation& relation, const Tensor& of_edges) {
    const bool numbered = of_edges && relation.csr_order();
    add(numbered ? detail::gather_edges(of_edges, relation.csr_order()) : of_edges);
  }
  uint64_t result() const {
    uint64_t h = (state_ ^ (state_ >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
  }

 private:
  void add_form(DType dtype, const Shape& shape) {
    add(static_cast<uint64_t>(dtype));
    for (int d = 0; d < shape.dims(); ++d) add(static_cast<uint64_t>(shape[d]));
  }
  /// The whole words of a tensor on the CPU; the bytes that are left over.
  uint64_t add_words(const Tensor& host) {
    const char* bytes = static_cast<const char*>(host.raw_data());
    uint64_t word = 0;
    size_t done = 0;
    for (; done + sizeof word <= host.bytes(); done += sizeof word) {
      std::memcpy(&word, bytes + done, sizeof word);
      add(word);
    }
    word = 0;
    if (done < host.bytes()) std::memcpy(&word, bytes + done, host.bytes() - done);
    return word;
  }

  uint64_t state_ = 0;
};

}  // namespace

std::string fingerprint(const Dataset& data) {
  Hash hash;
  hash.add(name_of(data.task));
  const Relation& edges = data.graph.relation();
  hash.add(edges);
  hash.add(edges, data.graph.edge_weight());
  for (const auto& [name, attribute] : data.graph.edge_attributes()) {
    hash.add(name);
    hash.add(edges, attribute);
  }
  if (data.x && data.x.is_sparse()) {
    const Relation& entries = data.x.sparse().relation();
    hash.add(entries);
    hash.add(entries, data.x.sparse().values());
  } else if (data.x_in_file) {
    hash.add(data.x_in_file);
  } else {
    hash.add(data.x ? data.x.dense() : Tensor());
  }
  for (const Tensor& tensor : {data.y, data.train, data.val, data.test, data.graph_offsets, data.graph_y})
    hash.add(tensor);
  // What datasets had not always: those without it keep the fingerprint that checkpoints know them by.
  for (const auto& [name, tensor] : {std::pair("part", data.part), std::pair("order", data.order)}) {
    if (!tensor) continue;
    hash.add(std::string_view(name));
    hash.add(tensor);
  }
  return fmt::format("{}, {} nodes, {} edges, {} features, {} classes, contents {:016x}", data.name,
                     data.num_nodes(), data.graph.num_edges(), data.num_features(), data.num_classes(),
                     hash.result());
}

}  // namespace adj
