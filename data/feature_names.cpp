#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/feature_names.h>
#include <adjoint/graph/sparse_matrix.h>

#include <cmath>
#include <optional>
#include <unordered_map>

namespace adj {

namespace {

/// The first names, quoted, and the number of the others.
std::string quoted(std::vector<std::string> names) {
  for (std::string& name : names) name = fmt::format("'{}'", name);
  return detail::listed(names, 5);
}

/// Where each of the expected names is among `found`, and what is on one side alone.
struct NameMatch {
  std::vector<int32_t> order;  // -1: missing
  std::vector<std::string> missing, others;

  NameMatch(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
    std::unordered_map<std::string_view, int32_t> places;
    for (size_t k = 0; k < found.size(); ++k) places.emplace(found[k], static_cast<int32_t>(k));
    for (const std::string& name : expected) {
      const auto place = places.find(name);
      order.push_back(place == places.end() ? -1 : place->second);
      if (place == places.end())
        missing.push_back(name);
      else
        places.erase(place);
    }
    for (const std::string& name : found)
      if (places.contains(name)) others.push_back(name);
  }
  bool moved() const {
    for (size_t k = 0; k < order.size(); ++k)
      if (order[k] != static_cast<int32_t>(k)) return true;
    return false;
  }
};

/// Columns of a file: what they are, where their names are, and those.
struct FoundColumns {
  std::string_view things, place;
  const std::string& file;
  const std::vector<std::string>& names;
  const FeatureEncoder& encoder;
};

/// Which columns of those found become the expected ones; nothing if they are, or if either side has no
/// names.
std::optional<std::vector<int32_t>> matched(const FoundColumns& found,
                                            const std::vector<std::string>& expected,
                                            const FeatureEncoder& encoder, const std::string& origin) {
  const std::string& file = found.file;
  if (const std::string differences = different_types(found.encoder, encoder); !differences.empty())
    data_fail("{}: {}: {}; convert with --like MODEL", file, found.things, differences);
  if (const std::string differences = different_fillings(found.encoder, encoder); !differences.empty())
    log_info("{}: gaps in {} have other numbers than those of {}: {} (convert --like uses its numbers)",
             found.things, file, origin, differences);
  if (const std::string differences = different_zones(found.encoder, encoder); !differences.empty())
    log_warning("{}: dates of {} and of {}: {}", found.things, file, origin, differences);
  if (expected.empty() && found.names.empty()) return {};
  if (expected.empty() || found.names.empty()) {
    log_info("{}: matched by position, as {} has no names of columns", found.things,
             expected.empty() ? origin : file);
    return {};
  }
  NameMatch match(expected, found.names);
  if (!match.missing.empty())
    data_fail("{}: {}: no column {}{}{}; {} was trained with {} columns{}", file, found.place,
              quoted(match.missing), match.others.empty() ? "" : ", but ", quoted(match.others), origin,
              expected.size(), found.encoder.empty() ? "" : "; convert with --like MODEL");
  if (!match.others.empty())
    log_info("{}: {} passed over, which {} does not know", found.things, quoted(match.others), origin);
  if (match.moved()) log_info("{}: columns in the order of {}, by name", found.things, origin);
  if (!match.moved() && match.others.empty()) return {};
  return std::move(match.order);
}

Tensor selected(const Tensor& x, std::span<const int32_t> order) {
  const int64_t cols = x.size(1), width = std::ssize(order);
  Tensor y = Tensor::empty({x.size(0), width}, DType::f32);
  const float* const source = x.data<float>();
  float* const target = y.mutable_data<float>();
  parallel_for(x.size(0), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = 0; k < width; ++k)
        target[i * width + k] = source[i * cols + order[static_cast<size_t>(k)]];
  });
  return y;
}

SparseMatrix selected(const SparseMatrix& x, std::span<const int32_t> order) {
  std::vector<int32_t> place(static_cast<size_t>(x.cols()), -1);
  for (size_t k = 0; k < order.size(); ++k) place[static_cast<size_t>(order[k])] = static_cast<int32_t>(k);
  const Csr& all = x.relation().csr();
  const int64_t* const offsets = all.offsets.data<int64_t>();
  const int32_t* const indices = all.indices.data<int32_t>();
  const float* const values = x.values().data<float>();
  std::vector<int64_t> ends{0};
  std::vector<int32_t> columns;
  std::vector<float> kept;
  for (int64_t i = 0; i < x.rows(); ++i) {
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      if (const int32_t k = place[static_cast<size_t>(indices[e])]; k >= 0) {
        columns.push_back(k);
        kept.push_back(values[e]);
      }
    ends.push_back(std::ssize(columns));
  }
  Csr csr;
  csr.rows = x.rows();
  csr.cols = std::ssize(order);
  csr.offsets = Tensor::from(ends);
  csr.indices = Tensor::from(columns);
  Tensor numbers = Tensor::from(kept);
  detail::sort_rows(csr, numbers);
  return SparseMatrix(Relation::from_csr(std::move(csr)), std::move(numbers));
}

}  // namespace

Features select_columns(const Features& x, std::span<const int32_t> order) {
  const Features host = x.to(Device::cpu());
  return (host.is_sparse() ? Features(selected(host.sparse(), order))
                           : Features(selected(host.dense(), order)))
      .to(x.device());
}

void match_features(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                    const FeatureEncoder& encoder, const std::string& origin) {
  const auto order = matched({"features", "nodes/x_names", file, data.feature_names, data.encoder}, expected,
                             encoder, origin);
  if (!order) return;
  if (data.x_in_file)
    data_fail(
        "{}: nodes/x_names: columns in another order than those of {}, expected the same for features in a "
        "file (--features device or host reorders them)",
        file, origin);
  data.x = select_columns(data.x, *order);
  data.feature_names = expected;
  data.encoder = {};
}

void match_attributes(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                      const FeatureEncoder& encoder, const std::string& origin) {
  if (!data.graph.edge_attributes().contains("attr")) return;
  const auto order =
      matched({"edge attributes", "edges/attr_names", file, data.attr_names, data.attr_encoder}, expected,
              encoder, origin);
  if (!order) return;
  const Tensor attributes = data.graph.edge_attr("attr");
  data.graph = data.graph.with_edge_attr(
      "attr", selected(attributes.to(Device::cpu()), *order).to(attributes.device()));
  data.attr_names = expected;
  data.attr_encoder = {};
}

namespace {

/// Several labels or targets; without all that the model has there is nothing to compare with.
void match_label_columns(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                         int64_t outputs, const std::string& origin) {
  const std::vector<std::string>& found = data.class_names;
  if (expected.empty() != found.empty() && data.labels().size(1) == outputs)
    log_info("labels: matched by position, as {} has no names of columns", expected.empty() ? origin : file);
  if (expected.empty() || found.empty() || expected == found) return;
  const NameMatch match(expected, found);
  Tensor& y = data.labels();
  if (!match.missing.empty()) {
    log_info("no metric: {} has no labels {}{}{}", file, quoted(match.missing),
             match.others.empty() ? "" : ", but ", quoted(match.others));
    y = {};
    return;
  }
  if (!match.others.empty())
    log_info("labels: {} passed over, which {} does not know", quoted(match.others), origin);
  if (match.moved()) log_info("labels: columns in the order of {}, by name", origin);
  y = selected(y.to(Device::cpu()), match.order).to(y.device());
  data.class_names = expected;
}

/// The number that a name of a class is: 1 of "1" and "1.0".
std::optional<int64_t> class_number(const std::string& name) {
  constexpr double kMost = 1LL << 53;
  const auto number = number_in<double>(name);
  if (!number || std::abs(*number) > kMost || *number != std::floor(*number)) return {};
  return static_cast<int64_t>(*number);
}

/// Names of classes to match by: those without names are numbers, and so are then the others' names. Both
/// stay empty if positions are all there is.
void name_by_number(std::vector<std::string>& names, int64_t classes, std::vector<std::string>& others) {
  if (std::none_of(others.begin(), others.end(), [](const auto& name) { return class_number(name); })) {
    others.clear();
    return;
  }
  for (int64_t c = 0; c < classes; ++c) names.push_back(std::to_string(c));
  for (std::string& name : others)
    if (const auto number = class_number(name)) name = std::to_string(*number);
}

}  // namespace

void match_classes(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                   int64_t outputs, const std::string& origin) {
  Tensor& y = data.labels();
  if (!y) return;
  if (y.dims() != 1) return match_label_columns(data, file, expected, outputs, origin);
  std::vector<std::string> found = data.class_names, wanted = expected;
  if (found.empty() && wanted.empty()) {
    data.classes = std::max(data.classes, outputs);  // a model knows its last classes too
    return;
  }
  if (found.empty()) name_by_number(found, data.classes, wanted);
  if (wanted.empty()) name_by_number(wanted, outputs, found);
  if (found.empty() || wanted.empty()) {
    if (data.classes == outputs)
      log_info("labels: classes matched by position, as {} has no names of them",
               expected.empty() ? origin : file);
    return;
  }
  if (found == wanted) return;
  const NameMatch match(found, wanted);  // order: the model's number of each class of the dataset
  if (!match.missing.empty())
    log_warning("labels: {} unknown to {}: without a label here", quoted(match.missing), origin);
  if (match.moved()) log_info("labels: classes in the order of {}, by name", origin);
  std::vector<int32_t> labels = y.to_vector<int32_t>();
  for (int32_t& label : labels)
    if (label >= 0) label = match.order[static_cast<size_t>(label)];
  y = Tensor::from(labels);
  data.class_names = expected;
  data.classes = outputs;
  const auto labelled = [&](const Tensor& part) {
    std::vector<int32_t> kept;
    for (const int32_t i : part.to_vector<int32_t>())
      if (labels[static_cast<size_t>(i)] >= 0) kept.push_back(i);
    return Tensor::from(kept);
  };
  if (!match.missing.empty())
    for (Tensor* part : {&data.train, &data.val, &data.test})
      if (*part) *part = labelled(*part);
}

}  // namespace adj
