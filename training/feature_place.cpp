#include <adjoint/core/text.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/training/feature_place.h>

namespace adj::training {

namespace {

/// --cached-rows out of `rows`. Throws UsageError unless it is a number or a share.
int64_t rows_cached(const std::string& text, int64_t rows) {
  const bool share = text.ends_with('%');
  const std::string_view digits(text.data(), text.size() - (share ? 1 : 0));
  const auto percent = number_in<double>(share ? digits : "0");
  const auto count = number_in<int64_t>(share ? "0" : digits);
  if (!percent || !count || *count < 0 || !(*percent >= 0.0 && *percent <= 100.0) ||
      digits.find_first_of("eE") != std::string_view::npos)
    usage_fail("--cached-rows: expected a number of rows, or a share from 0% to 100%, got '{}'", text);
  return share ? static_cast<int64_t>(*percent / 100.0 * static_cast<double>(rows)) : *count;
}

/// A node is gathered as a neighbour once per out-edge.
CachedRows cached_rows_of(const Dataset& data, const BatchOptions& s) {
  const int64_t count = rows_cached(s.cached_rows, data.num_nodes());
  if (count > data.num_nodes())
    usage_fail("--cached-rows: expected at most {} for {}, got {}", data.num_nodes(), printable(data.name),
               count);
  if (count == 0) return {};
  return {count, data.graph.out_degrees().to(Device::cpu()).to(DType::f32)};
}

}  // namespace

void BatchOptions::check_features(const std::string& device, const std::string& model) const {
  (void)rows_cached(cached_rows, 0);
  const bool cached = cached_rows != "0";
  if (cached && (features == FeaturePlace::device || features == FeaturePlace::split))
    usage_fail("--cached-rows: requires --features host or file");
  if (features == FeaturePlace::device) return;
  if (cached && features == FeaturePlace::host && Device::parse(device).is_cpu())
    usage_fail("--cached-rows: requires a GPU with --features host, as the CPU reads its own memory");
  if (evaluation == EvaluationMethod::graph && !model.empty())
    usage_fail(
        "--features {}: {} is evaluated over the whole graph, as it is not exact layer by layer, which "
        "needs the features of all nodes at once; expected --features device",
        name_of(features), model);
  if (evaluation == EvaluationMethod::graph)
    usage_fail(
        "--evaluation graph: conflicts with --features {}, as it needs the features of all nodes at once",
        name_of(features));
}

LoadOptions load_options(const BatchOptions& s) {
  return {.features_in_file = s.features == FeaturePlace::file};
}

Dataset placed_on(Device device, const Dataset& data, const BatchOptions& s) {
  if (s.features != FeaturePlace::host && s.features != FeaturePlace::split) return data.to(device);
  Dataset placed = data;
  placed.x = {};
  placed = placed.to(device);
  placed.x = data.x;
  return placed;
}

Features rank_rows(const Dataset& data, const ExecutionOptions& compute) {
  if (data.x.is_sparse())
    usage_fail(
        "--features split: expected dense or quantised features, those of {} are sparse (--features host)",
        printable(data.name));
  const int64_t ranks = std::ssize(compute.rank_devices()), nodes = data.num_nodes();
  const int64_t begin = compute.rank * nodes / ranks, end = (compute.rank + 1) * nodes / ranks;
  return data.x.rows(detail::range(begin, end)).to(compute.dtype()).to(data.device());
}

namespace {

/// With a store for each type whose rows are in a file, or stay on the host.
std::shared_ptr<const FeatureStore> typed_store(const Dataset& data, const BatchOptions& s, DType dtype) {
  const Device device = data.device();
  TypedFeatures rows = data.x.to(dtype).typed();
  auto stores = detail::file_stores(data, device);
  for (size_t t = 0; t < stores.size(); ++t)
    if (rows.x[t] && s.features == FeaturePlace::host && device.is_cuda())
      stores[t] = make_pinned_store(std::exchange(rows.x[t], {}), device);
  return make_typed_store(rows, std::move(stores));
}

}  // namespace

std::shared_ptr<const FeatureStore> feature_store(const Dataset& data, const BatchOptions& s, DType dtype) {
  const Device device = data.device();
  if (data.x && data.x.is_typed()) return typed_store(data, s, dtype);
  const CachedRows cached = cached_rows_of(data, s);
  if (data.x_in_file) return make_file_store(data.x_in_file, device, cached);
  const Features x = data.x.to(dtype);
  if (cached.count > 0 && x.is_sparse())
    usage_fail("--cached-rows: expected dense or quantised features, those of {} are sparse",
               printable(data.name));
  // Sparse features are gathered from host memory anyway.
  if (s.features != FeaturePlace::host || device.is_cpu() || x.is_sparse()) return make_feature_store(x);
  return make_pinned_store(x, device, cached);
}

void require_layers(const models::Model& model) {
  if (!model.exact_by_layers())
    usage_fail("--evaluation layers: {} needs whole graphs, expected --evaluation graph", model.describe());
}

Tensor layer_by_layer(models::NodeModel& model, const Graph& graph,
                      const std::shared_ptr<const FeatureStore>& x, const LoaderOptions& options) {
  const NoGrad no_grad;
  return infer_layer_wise(
      graph, x, model.num_layers(),
      [&](size_t layer, const Block& block, const Features& of_sources) {
        return model.over(layer, block, model.input(of_sources)).value();
      },
      options);
}

}  // namespace adj::training
