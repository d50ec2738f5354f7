#include <adjoint/graph/padded_blocks.h>
#include <adjoint/kernels/index/pad.h>

#include <algorithm>

namespace adj {

namespace {

using kernels::Ramp;

/// Offsets of `rows` further rows, which share `edges` evenly, behind `begin` edges.
Ramp shared_offsets(int64_t begin, int64_t rows, int64_t edges) {
  const int64_t span = std::max<int64_t>(rows, 1);
  return {begin, edges, edges + span - 1, span};  // of row j its end: that of the first row is its own share
}
/// The row of each of those edges, from `first` on.
Ramp shared_rows(int64_t first, int64_t rows, int64_t edges) {
  return {first, rows, 0, std::max<int64_t>(edges, 1)};
}

Csr empty_csr(int64_t rows, int64_t cols, int64_t entries, Device device) {
  return {rows, cols, Tensor::empty({rows + 1}, DType::i64, device),
          Tensor::empty({entries}, DType::i32, device)};
}

/// Another handle of the structure, with empty caches.
Csr without_caches(const Csr& csr) { return {csr.rows, csr.cols, csr.offsets, csr.indices}; }

}  // namespace

BlockSizes BlockSizes::count(std::span<const Block> blocks) {
  BlockSizes sizes;
  for (const Block& block : blocks) {
    sizes.nodes.push_back(block.num_src());
    sizes.edges.push_back(block.num_edges());
  }
  sizes.nodes.push_back(blocks.back().num_dst());
  return sizes;
}

PaddedBlocks::PaddedBlocks(BlockSizes most, std::span<const Block> blocks, Device device,
                           size_t first_transposed)
    : sizes_(std::move(most)) {
  ADJ_CHECK(!blocks.empty() && sizes_.edges.size() == blocks.size() &&
                sizes_.nodes.size() == blocks.size() + 1 &&
                std::is_sorted(sizes_.nodes.rbegin(), sizes_.nodes.rend()),
            "padded blocks: sizes of {} blocks and {} sets of nodes for {} blocks, expected those of each, "
            "and no more targets than sources",
            sizes_.edges.size(), sizes_.nodes.size(), blocks.size());
  nodes_ = Tensor::zeros({sizes_.nodes.front()}, DType::i32, device);
  for (size_t l = 0; l < blocks.size(); ++l) {
    const int64_t sources = sizes_.nodes[l], targets = sizes_.nodes[l + 1], edges = sizes_.edges[l];
    Storage storage;
    storage.in_edges = empty_csr(targets, sources, edges, device);
    if (l >= first_transposed) {
      storage.out_edges = empty_csr(sources, targets, edges, device);
      storage.out_order = Tensor::empty({edges}, DType::i32, device);
    }
    if (blocks[l].edge_weight()) storage.weight = Tensor::empty({edges}, DType::f32, device);
    storage_.push_back(std::move(storage));
  }
}

bool PaddedBlocks::fill(std::span<const Block> blocks) {
  if (blocks.size() != storage_.size()) return false;
  const BlockSizes batch = BlockSizes::count(blocks);
  for (size_t l = 0; l < blocks.size(); ++l) {
    const int64_t further = sizes_.edges[l] - batch.edges[l], least = further > 0 ? 1 : 0;
    if (further < 0 || sizes_.nodes[l] - batch.nodes[l] < least ||
        sizes_.nodes[l + 1] - batch.nodes[l + 1] < least || !blocks[l].edge_attributes().empty() ||
        static_cast<bool>(blocks[l].edge_weight()) != static_cast<bool>(storage_[l].weight))
      return false;
  }
  std::vector<kernels::Padded> arrays{{blocks.front().src_nodes().to(DType::i32), nodes_, {}}};
  for (size_t l = 0; l < blocks.size(); ++l) {
    const Storage& storage = storage_[l];
    const int64_t sources = batch.nodes[l], targets = batch.nodes[l + 1], edges = batch.edges[l];
    const int64_t more_sources = sizes_.nodes[l] - sources, more_targets = sizes_.nodes[l + 1] - targets,
                  more = sizes_.edges[l] - edges;
    const Relation& relation = blocks[l].relation();
    const Ramp source = shared_rows(sources, more_sources, more),
               target = shared_rows(targets, more_targets, more);
    const Csr& rows = relation.csr();
    arrays.push_back({rows.offsets, storage.in_edges.offsets, shared_offsets(edges, more_targets, more)});
    arrays.push_back({rows.indices, storage.in_edges.indices, source});
    if (storage.weight) arrays.push_back({blocks[l].edge_weight(), storage.weight, {.first = 1}});
    if (!storage.transposed()) continue;
    const Csr& columns = relation.transposed();
    arrays.push_back({columns.offsets, storage.out_edges.offsets, shared_offsets(edges, more_sources, more)});
    arrays.push_back({columns.indices, storage.out_edges.indices, target});
    // Both sides of the further edges ascend, so that they have the same order.
    arrays.push_back({relation.transposed_order(), storage.out_order, {.first = edges, .step = 1}});
  }
  kernels::pad_arrays({.arrays = arrays});
  return true;
}

std::vector<Block> PaddedBlocks::blocks() const {
  std::vector<Block> blocks;
  for (const Storage& storage : storage_) {
    Csr rows = without_caches(storage.in_edges);
    rows.ascending = false;
    const Relation relation =
        storage.transposed() ? Relation::from_both(rows, without_caches(storage.out_edges), storage.out_order)
                             : Relation::from_csr(rows, false);
    const Block block(relation, nodes_.rows(0, rows.cols));
    blocks.push_back(storage.weight ? block.with_edge_data(storage.weight, {}) : block);
  }
  return blocks;
}

}  // namespace adj
