#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/models/node_features.h>
#include <adjoint/optim/non_finite.h>
#include <adjoint/training/at_place.h>
#include <adjoint/training/inputs.h>

namespace adj::training {

void replace_features(Dataset& data, const std::string& file, models::NodeFeatures kind,
                      const std::function<Features()>& features) {
  if (kind == models::NodeFeatures::file) return;
  const int64_t before = data.num_features();
  data.feature_names.clear();  // of columns that these replace
  data.encoder = {};
  data.x_in_file = {};
  data.x = at_place(file, "edges", features);
  log_info("node features: {}, {} column{}{}", name_of(kind), data.num_features(),
           data.num_features() == 1 ? "" : "s",
           before > 0 ? fmt::format("; they replace the {} of {}", before, printable(file)) : "");
}

void set_node_features(Dataset& data, const std::string& file, const models::ModelOptions& o) {
  const bool walks = o.node_features == models::NodeFeatures::random_walk;
  replace_features(data, file, o.node_features, [&] {
    return models::node_features(o.node_features, data.graph, walks ? o.walk_steps : 0);
  });
}

void require_features(const Dataset& data, const std::string& file, const std::string& program) {
  if (data.num_features() == 0)
    data_fail("{}: nodes/x: {}, {} needs node features{}", file,
              data.x || data.x_in_file ? "no columns" : "missing", program,
              program.starts_with("train_")
                  ? "; --node-features constant, degree, one-hot-degree, random-walk or learned makes some"
                  : "");
}

Tensor training_rows(const Dataset& data, const Examples& examples) {
  if (examples.things == "nodes") return examples.train;
  if (examples.things != "graphs") return {};
  const int64_t* offsets = data.graph_offsets.data<int64_t>();
  std::vector<int32_t> rows;
  for (const int32_t g : examples.train.to_vector<int32_t>())
    for (int64_t node = offsets[g]; node < offsets[g + 1]; ++node) rows.push_back(static_cast<int32_t>(node));
  return Tensor::from(rows);
}

namespace {

using Scaling = FeatureScaling::Kind;

/// "age, income, score and 4 more"; numbers where columns have no names.
std::string listed_columns(const Dataset& data, const std::vector<int32_t>& columns) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (const int32_t k : columns)
    names.push_back(data.feature_names.empty() ? fmt::to_string(k)
                                               : data.feature_names[static_cast<size_t>(k)]);
  return detail::listed(names, kShown);
}

void log_unscaled(const FeatureSummary& x) {
  log_info("features: unscaled ({})", x.real_columns.empty() ? "all are 0"
                                      : x.sparse ? "sparse; --features-scaling real makes them dense"
                                                 : "words and categories of a table");
  if (x.scales_differ())
    log_warning(
        "features: columns of very different scale, the largest value is {:.3g} in one and {:.3g} in "
        "another; --features-scaling real equalises them",
        x.least_scale, x.largest_scale);
}

}  // namespace

FeatureScaling choose_scaling(const Dataset& data, const std::string& file, std::optional<Scaling> how,
                              const Tensor& train) {
  std::vector<int32_t> columns;
  Scaling kind = how.value_or(Scaling::none);
  if (!how || *how == Scaling::real) {
    const FeatureSummary x = data.x ? summary_of(data.x) : summary_of(data.x_in_file);
    columns = real_columns(x, data.encoder);
    if (!how) kind = FeatureScaling::automatic(x, data.encoder);
    if (!how && kind == Scaling::none) log_unscaled(x);
  }
  if (!how && kind == Scaling::rows)
    log_info("features: rows divided by their sums (bag of words); --features-scaling none leaves them");
  if (kind == Scaling::real)
    log_info("features: {} of {} columns standardised{}; --features-scaling none leaves them", columns.size(),
             data.num_features(), columns.empty() ? "" : fmt::format(" ({})", listed_columns(data, columns)));
  const bool standardizes = kind == Scaling::standard || kind == Scaling::real;
  if (standardizes && data.x && data.x.is_sparse())
    log_warning(
        "features: standard scaling makes sparse ones dense, {:.0f} MB",
        static_cast<double>(data.x.rows()) * static_cast<double>(data.x.cols()) * sizeof(float) / 0x1p20);
  return at_place(file, "nodes/x", [&] {
    const Scaling fitted = standardizes ? Scaling::standard : kind;
    const FeatureScaling all = data.x ? FeatureScaling::fit(fitted, data.x, train)
                                      : FeatureScaling::fit(fitted, data.x_in_file, train);
    return kind == Scaling::real ? all.restricted(columns) : all;
  });
}

void scale_features(Dataset& data, const std::string& file, const FeatureScaling& scaling) {
  if (scaling.kind() == Scaling::none) return;
  const auto require_finite = [&](const Tensor& x) {
    if (!optim::first_not_finite({{"x", x}}).empty())
      data_fail("{}: nodes/x: {} is not finite; --features-scaling none leaves it", file,
                scaling.kind() == Scaling::rows ? "a row divided by its sum" : "a scaled column");
  };
  if (data.x_in_file) {
    data.x_in_file = scaling.apply(data.x_in_file);
    data.x_in_file.for_blocks([&](int64_t, const Tensor& x) { require_finite(x); });
    return;
  }
  data.x = at_place(file, "nodes/x", [&] { return scaling.apply(data.x); });
  require_finite(data.x.is_sparse() ? data.x.sparse().values() : data.x.dense());
}

FeatureQuantization choose_quantization(const Dataset& data, const std::string& file, int64_t bits) {
  return at_place(file, "nodes/x", [&] { return FeatureQuantization::fit(static_cast<int>(bits), data.x); });
}

void quantize_features(Dataset& data, const FeatureQuantization& quantization) {
  if (!quantization.quantizes()) return;
  if (data.x_in_file) {
    data.x_in_file = quantization.apply(data.x_in_file);
    return;
  }
  const auto megabytes = [](const Features& x) { return static_cast<double>(x.bytes()) / 0x1p20; };
  const Features quantized = quantization.apply(data.x);
  log_info("features: {} bits per number, one range per column: {:.2f} MB instead of {:.2f} MB as {} ones",
           quantization.bits(), megabytes(quantized), megabytes(data.x),
           data.x.is_sparse() ? "sparse" : "dense");
  if (quantized.bytes() > data.x.bytes())
    log_warning(
        "features: sparse ones take less memory than {} bits per number; --features-bits 32 leaves them",
        quantization.bits());
  data.x = quantized;
}

}  // namespace adj::training
