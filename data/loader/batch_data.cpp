#include <adjoint/data/detail/batch_data.h>
#include <adjoint/graph/edge_attributes.h>

namespace adj::detail {

std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device) {
  ADJ_CHECK(data.graph, "{}: a dataset without a graph", loader);
  if (data.x_in_file) return make_file_source(data.x_in_file, device.value_or(data.device()));
  ADJ_CHECK(data.x, "{}: dataset '{}' has no features", loader, data.name);
  return make_feature_store(data.x);
}

void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes) {
  ADJ_CHECK(x, "{}: no features, expected of {} nodes", loader, nodes);
  ADJ_CHECK(x->rows() == nodes, "{}: features of {} nodes, expected of {}", loader, x->rows(), nodes);
}

Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& nodes, Device device) {
  Features rows = x.gather(nodes, device);
  ADJ_CHECK(rows && rows.rows() == nodes.numel() && rows.device() == device,
            "{}: a feature source gave {} rows on {}, expected {} on {}", loader, rows ? rows.rows() : 0,
            rows ? rows.device().str() : "no device", nodes.numel(), device.str());
  return rows;
}

void check_labels(std::string_view loader, const Tensor& labels, int64_t rows) {
  ADJ_CHECK(!labels || ((labels.dims() == 1 || labels.dims() == 2) && labels.size(0) == rows),
            "{}: labels are {}, expected [{}] or [{}, T]", loader, labels.str(), rows, rows);
}

Tensor gather_labels(const Tensor& labels, const Tensor& at, Device device) {
  return labels ? gather_edges(labels, at.to(labels.device())).to(device) : Tensor();
}

}  // namespace adj::detail
