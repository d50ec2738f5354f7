#include "report.h"

#include "picture.h"
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/table_file.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace adj::apps {

using adj::detail::Column;

namespace {

constexpr int64_t kMostDrawn = 150;  // edges in a picture
constexpr size_t kMostNamed = 40;    // nodes up to which all are named

}  // namespace

ExplanationReport::ExplanationReport(const models::Explanation& explanation, const Dataset& dataset)
    : why(&explanation),
      data(&dataset),
      order(models::edges_by_importance(explanation)),
      feature_order(explanation.feature_importance.size()) {
  std::iota(feature_order.begin(), feature_order.end(), 0);
  std::ranges::stable_sort(feature_order, std::ranges::greater(), [&](int32_t k) {
    return std::abs(explanation.feature_importance[static_cast<size_t>(k)]);
  });
}

std::string ExplanationReport::node(int32_t row) const {
  if (data->node_names)
    return std::string(adj::detail::PackedNames{data->node_names, data->node_name_offsets}.text(row));
  if (data->node_ids) return std::to_string(data->node_ids.data<int64_t>()[row]);
  return std::to_string(data->order ? data->order.data<int32_t>()[row] : row);
}

std::string ExplanationReport::feature(int32_t column) const {
  if (column >= data->num_features()) return fmt::format("positional {}", column - data->num_features() + 1);
  return data->feature_names.empty() ? std::to_string(column)
                                     : data->feature_names[static_cast<size_t>(column)];
}

void ExplanationReport::print(int64_t top) const {
  const auto shown = [top](const auto& all) {
    return static_cast<size_t>(std::min<int64_t>(top, std::ssize(all)));
  };
  fmt::print("{:>12}  edge\n", "importance");
  for (size_t k = 0; k < shown(order); ++k) {
    const auto e = static_cast<size_t>(order[k]);
    fmt::print("{:>12.4g}  {} -> {}\n", why->edge_importance[e], printable(node(why->src[e])),
               printable(node(why->dst[e])));
  }
  if (feature_order.empty()) return;
  fmt::print("{:>12}  feature\n", "importance");
  for (size_t k = 0; k < shown(feature_order); ++k)
    fmt::print("{:>12.4g}  {}\n", why->feature_importance[static_cast<size_t>(feature_order[k])],
               printable(feature(feature_order[k])));
}

std::string ExplanationReport::json(int64_t top) const {
  std::string edges, features;
  for (int64_t k = 0; k < std::min<int64_t>(top, std::ssize(order)); ++k) {
    const auto e = static_cast<size_t>(order[static_cast<size_t>(k)]);
    edges += fmt::format(R"({}{{"from": {}, "to": {}, "importance": {}}})", edges.empty() ? "" : ", ",
                         json_text(node(why->src[e])), json_text(node(why->dst[e])), why->edge_importance[e]);
  }
  for (int64_t k = 0; k < std::min<int64_t>(top, std::ssize(feature_order)); ++k) {
    const int32_t column = feature_order[static_cast<size_t>(k)];
    features += fmt::format(R"({}{{"feature": {}, "importance": {}}})", features.empty() ? "" : ", ",
                            json_text(feature(column)), why->feature_importance[static_cast<size_t>(column)]);
  }
  return fmt::format(R"("edges": [{}], "features": [{}])", edges, features);
}

void ExplanationReport::write_edges(const std::string& path, bool escape_formulas) const {
  const auto end = [&](const char* title, const std::vector<int32_t>& ends) {
    return Column{title, [this, &ends](fmt::memory_buffer& buffer, int64_t row, adj::detail::TextForm form) {
                    const auto e = static_cast<size_t>(order[static_cast<size_t>(row)]);
                    if (!data->node_names && form == adj::detail::TextForm::json)
                      fmt::format_to(std::back_inserter(buffer), "{}", node(ends[e]));
                    else
                      Column::append_text(buffer, node(ends[e]), form);
                  }};
  };
  adj::detail::write_table(
      path,
      {end("from", why->src), end("to", why->dst),
       Column::of_numbers("importance",
                          [&](int64_t row) { return importance(order[static_cast<size_t>(row)]); })},
      std::ssize(order), escape_formulas);
}

void ExplanationReport::write_features(const std::string& path, bool escape_formulas) const {
  const auto column = [&](int64_t row) { return feature_order[static_cast<size_t>(row)]; };
  adj::detail::write_table(
      path,
      {Column{"feature",
              [&](fmt::memory_buffer& buffer, int64_t row, adj::detail::TextForm form) {
                Column::append_text(buffer, feature(column(row)), form);
              }},
       Column::of_numbers(
           "importance",
           [&](int64_t row) { return why->feature_importance[static_cast<size_t>(column(row))]; })},
      std::ssize(feature_order), escape_formulas);
}

void ExplanationReport::draw(const std::string& path, int64_t top) const {
  const auto drawn = std::min<int64_t>(std::max<int64_t>(top, kMostDrawn), std::ssize(order));
  Picture picture;
  picture.title = fmt::format("{}: {}", target, output);
  const bool is_signed = why->method == models::ExplainMethod::integrated_gradients;
  picture.note = fmt::format("{}, {} of the {} edges that reach it{}", name_of(why->method), drawn,
                             order.size(), is_signed ? "; blue raises the output, red lowers it" : "");
  picture.directed = !data->undirected && !data->graph.is_symmetric();
  std::map<int32_t, int32_t> places;
  const auto place = [&](int32_t row) {
    const auto [found, added] = places.try_emplace(row, static_cast<int32_t>(places.size()));
    if (added) {
      picture.labels.push_back(node(row));
      picture.marked.push_back(std::ranges::find(marked, row) != marked.end());
    }
    return found->second;
  };
  for (const int32_t row : marked) place(row);
  for (int64_t k = 0; k < drawn; ++k) {
    const int32_t edge = order[static_cast<size_t>(k)];
    const auto e = static_cast<size_t>(edge);
    const int32_t src = place(why->src[e]), dst = place(why->dst[e]);
    picture.edges.push_back({src, dst, importance(edge)});
  }
  picture.named.assign(picture.labels.size(), picture.labels.size() <= kMostNamed);
  for (size_t i = 0; i < picture.marked.size(); ++i)
    if (picture.marked[i]) picture.named[i] = true;
  for (int64_t k = 0; k < std::min(top, drawn); ++k)
    for (const int32_t end :
         {picture.edges[static_cast<size_t>(k)].src, picture.edges[static_cast<size_t>(k)].dst})
      picture.named[static_cast<size_t>(end)] = true;
  replace_file(path, svg(picture));
}

}  // namespace adj::apps
