#include <adjoint/core/capture.h>
#include <adjoint/core/log.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/training/padded_batches.h>
#include <adjoint/training/ranks.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr int64_t kDrawn = 16;       // batches that the sizes are estimated from
constexpr double kDeviations = 6.0;  // above their mean: few of a million batches are larger
// Nodes and edges together, from which on kernels take longer than their launches, and what workers prepare
// beside the steps counts for more (docs/benchmarks.md).
constexpr int64_t kLargest = 1 << 18;
constexpr int64_t kMultiple = 32;  // of all sizes, so that rows of any number of them are aligned

/// At least one more than any of the counts, and as many deviations above their mean.
int64_t room_above(const std::vector<int64_t>& counts) {
  double mean = 0.0, squares = 0.0;
  for (const int64_t count : counts) mean += static_cast<double>(count);
  mean /= static_cast<double>(counts.size());
  for (const int64_t count : counts) squares += std::pow(static_cast<double>(count) - mean, 2);
  const double deviation = std::sqrt(squares / static_cast<double>(counts.size()));
  const int64_t most = std::max(*std::max_element(counts.begin(), counts.end()) + 1,
                                static_cast<int64_t>(std::ceil(mean + kDeviations * deviation)));
  return (most + kMultiple - 1) / kMultiple * kMultiple;
}

bool is_large(const BlockSizes& sizes) {
  return std::accumulate(sizes.nodes.begin(), sizes.nodes.end(), int64_t{0}) +
             std::accumulate(sizes.edges.begin(), sizes.edges.end(), int64_t{0}) >
         kLargest;
}

/// So that all ranks do the same.
bool on_any_rank(const Run& run, bool value) {
  return run.part() != nullptr ? run.part()->any(value) : value;
}

bool possible(const Run& run, const models::NodeModel& model) {
  const LearningTask& task = run.task();
  const bool exchanges = run.part() == nullptr || run.part()->rows().group.capturable();
  return StepGraph::supported(run.device()) && !run.settings().compute.no_capture && exchanges &&
         model.takes_padded_blocks() && model.tables().empty() && task.store && !task.store->is_sparse() &&
         (PaddedBatches::gathers(run) || !task.preprocessing.quantization.quantizes()) &&
         task.data.graph.edge_attributes().empty();
}

}  // namespace

BlockSizes PaddedBatches::room_for(const std::vector<BlockSizes>& drawn) {
  BlockSizes most;
  const auto room = [&](std::vector<int64_t> BlockSizes::*part) {
    for (size_t l = 0; l < (drawn.front().*part).size(); ++l) {
      std::vector<int64_t> counts;
      for (const BlockSizes& one : drawn) counts.push_back((one.*part)[l]);
      (most.*part).push_back(room_above(counts));
    }
  };
  room(&BlockSizes::nodes);
  room(&BlockSizes::edges);
  for (size_t l = most.nodes.size() - 1; l > 0; --l)  // sources include the targets
    most.nodes[l - 1] = std::max(most.nodes[l - 1], most.nodes[l]);
  return most;
}

bool PaddedBatches::gathers(const Run& run) { return run.task().store->reads_nodes_on() == run.device(); }

std::unique_ptr<PaddedBatches> PaddedBatches::make(const Run& run, const models::NodeModel& model,
                                                   const std::function<NeighborLoader()>& loader) {
  if (!possible(run, model)) return nullptr;
  const NeighborLoader drawn_from = loader();
  const NeighborBatch first = drawn_from.batch(0, 0);
  std::vector<BlockSizes> drawn{BlockSizes::count(first.blocks)};
  if (on_any_rank(run, is_large(drawn.front()))) return nullptr;  // and so is the room for more of them
  for (int64_t i = 1; i < std::min(drawn_from.size(), kDrawn); ++i) {
    const NeighborBatch batch = drawn_from.batch(0, i);
    if (batch.size() == first.size()) drawn.push_back(BlockSizes::count(batch.blocks));
  }
  const BlockSizes most = room_for(drawn);
  if (on_any_rank(run, is_large(most))) return nullptr;
  if (run.leads())
    log_info("steps of {} seeds{} are one CUDA graph: batches are padded to {} nodes and {} edges",
             first.size(), run.part() != nullptr ? " a rank" : "", fmt::join(most.nodes, ", "),
             fmt::join(most.edges, ", "));
  return std::unique_ptr<PaddedBatches>(new PaddedBatches(run, first, most, model.first_transposed()));
}

PaddedBatches::PaddedBatches(const Run& run, const NeighborBatch& first, const BlockSizes& most,
                             size_t first_transposed)
    : run_(run),
      store_(gathers(run) ? run.task().store.get() : nullptr),
      seeds_(first.size()),
      storage_(most, first.blocks, run.device(), first_transposed),
      index_(adj::detail::numbers(seeds_).to(run.device())) {
  const auto storage_like = [&](int64_t count, const Tensor& rows) {
    std::vector<int64_t> extents{count};
    for (int d = 1; d < rows.dims(); ++d) extents.push_back(rows.size(d));
    return Tensor::zeros(Shape{std::span<const int64_t>(extents)}, rows.dtype(), run.device());
  };
  if (first.y) y_ = storage_like(most.nodes.back(), first.y);
  if (store_ == nullptr)
    x_ = Tensor::zeros({most.nodes.front(), run.task().store->cols()}, run.settings().compute.dtype(),
                       run.device());
}

bool PaddedBatches::fill(const NeighborBatch& batch) {
  if (batch.size() != seeds_) return false;
  if (!storage_.fill(batch.blocks)) return false;
  const auto copy = [](const Tensor& rows, const Tensor& storage) {
    if (!storage) return;
    Tensor front = storage.rows(0, rows.size(0));
    front.copy_(rows);  // what earlier batches left beyond is as good as any other
  };
  copy(batch.y, y_);
  if (x_) copy(batch.x.dense(), x_);
  return true;
}

NodeBatch PaddedBatches::place(const NeighborBatch& batch) {
  const bool fits = fill(batch);
  if (on_any_rank(run_, !fits))
    return {.graph = {}, .blocks = batch.blocks, .x = batch.x, .y = batch.y, .store = store_};
  blocks_ = storage_.blocks();
  return {.graph = {},
          .blocks = blocks_,
          .x = x_ ? Features(x_) : Features(),
          .y = y_,
          .index = index_,
          .store = store_,
          .placed = true};
}

}  // namespace adj::training
