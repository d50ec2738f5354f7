#include <adjoint/data/detail/batch_data.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/select.h>

namespace adj::detail {

Tensor checked_items(std::string_view loader, std::string_view what, const Tensor& items, int64_t count,
                     Device device) {
  ADJ_CHECK(items && items.dims() == 1 && (items.dtype() == DType::i32 || items.dtype() == DType::i64),
            "{}: {} are {}, expected int32 or int64 [K]", loader, what, items.str());
  const auto ids = items.to(Device::cpu()).to(DType::i64).to_vector<int64_t>();
  std::vector<bool> seen(static_cast<size_t>(count));
  for (size_t k = 0; k < ids.size(); ++k) {
    ADJ_CHECK(ids[k] >= 0 && ids[k] < count, "{}: {}[{}] is {}, expected 0 to {}", loader, what, k, ids[k],
              count - 1);
    ADJ_CHECK(!seen[static_cast<size_t>(ids[k])], "{}: {}[{}] is {}, which occurs before", loader, what, k,
              ids[k]);
    seen[static_cast<size_t>(ids[k])] = true;
  }
  return items.to(device).to(DType::i32);
}

Tensor numbers(int64_t count) {
  Tensor all = Tensor::empty({count}, DType::i32);
  kernels::iota({.y = all});
  return all;
}

std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device) {
  ADJ_CHECK(data.graph, "{}: a dataset without a graph", loader);
  if (data.x_in_file) return make_file_store(data.x_in_file, device.value_or(data.device()));
  ADJ_CHECK(data.x, "{}: dataset '{}' has no features", loader, data.name);
  if (!data.x.is_typed()) return make_feature_store(data.x);
  return make_typed_store(data.x.typed(), file_stores(data, device.value_or(data.device())));
}

std::vector<std::shared_ptr<const FeatureStore>> file_stores(const Dataset& data, Device device) {
  std::vector<std::shared_ptr<const FeatureStore>> stores(data.x.typed().counts.size());
  for (size_t t = 0; t < data.x_in_files.size(); ++t)
    if (data.x_in_files[t]) stores[t] = make_file_store(data.x_in_files[t], device);
  return stores;
}

void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes) {
  ADJ_CHECK(x, "{}: no features, expected features of {} nodes", loader, nodes);
  ADJ_CHECK(x->rows() == nodes, "{}: features of {} nodes, expected of {} nodes", loader, x->rows(), nodes);
}

Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& home_nodes,
                         const Tensor& device_nodes, Device device) {
  const Tensor& nodes = x.reads_nodes_on() == device ? device_nodes : home_nodes;
  Features rows = x.gather(nodes.to(DType::i32), device);
  ADJ_CHECK(rows && rows.rows() == nodes.numel() && rows.device() == device,
            "{}: a feature store returned {} rows on {}, expected {} on {}", loader, rows ? rows.rows() : 0,
            rows ? rows.device().str() : "no device", nodes.numel(), device.str());
  if (!rows.is_typed()) return rows;
  TypedFeatures typed = rows.typed();
  typed.distinct = true;  // as the nodes of every batch
  return Features(std::move(typed));
}

void check_labels(std::string_view loader, const Tensor& labels, int64_t rows) {
  ADJ_CHECK(!labels || ((labels.dims() == 1 || labels.dims() == 2) && labels.size(0) == rows),
            "{}: labels are {}, expected [{}] or [{}, T]", loader, labels.str(), rows, rows);
}

Tensor gather_labels(const Tensor& labels, const Tensor& index) {
  return labels ? gather_edges(labels, index.to(labels.device())) : Tensor();
}

void check_sampled_for(std::string_view loader, Device home, Device device) {
  ADJ_CHECK(home.is_cpu() || device == home, "{}: a graph on {} is not sampled for {}", loader, home.str(),
            device.str());
}

void derive(const LoaderOptions& options, const Graph& graph) {
  if (options.derive) {
    options.derive(graph);
  } else if (options.backward) {
    (void)graph.out_edges();
  }
}

void derive(const LoaderOptions& options, const std::vector<Block>& blocks, size_t first_transposed) {
  if (!options.backward) return;
  for (size_t l = first_transposed; l < blocks.size(); ++l) (void)blocks[l].relation().transposed();
}

void plan_blocks(const LoaderOptions& options, const std::vector<Block>& blocks, size_t first_transposed) {
  for (size_t l = 0; l < blocks.size(); ++l) {
    const Relation& relation = blocks[l].relation();
    kernels::plan_rows({.a = relation.csr()});
    if (options.backward && l >= first_transposed) kernels::plan_rows({.a = relation.transposed()});
  }
}

void derive_blocks(const LoaderOptions& options, const std::vector<Block>& blocks) {
  if (!options.derive_block) return;
  for (const Block& block : blocks) options.derive_block(block);
}

}  // namespace adj::detail
