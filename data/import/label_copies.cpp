#include <adjoint/data/import/detail/node_rows.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace adj {

namespace {

bool may_copy(ColumnType type) {
  return type == ColumnType::number || type == ColumnType::boolean || type == ColumnType::category ||
         type == ColumnType::ordinal;
}

}  // namespace

std::vector<std::string> label_copies(const FeatureTable& table, const Tensor& y, int64_t classes) {
  if (!table.x || classes < 2) return {};
  struct Candidate {
    int64_t column;  // of x
    size_t encoder;
  };
  std::vector<Candidate> live;
  int64_t width = 0, labelled = 0;
  for (size_t e = 0; e < table.encoder.columns.size(); ++e) {
    const ColumnEncoder& encoder = table.encoder.columns[e];
    for (int64_t k = 0; k < encoder.width() && may_copy(encoder.type); ++k) live.push_back({width + k, e});
    width += encoder.width();
  }
  const float* const x = table.x.data<float>();
  std::vector<int64_t> first(static_cast<size_t>(classes), -1);  // node of each class
  const auto value = [&](const Candidate& c, int32_t label) {
    return x[first[static_cast<size_t>(label)] * width + c.column];
  };
  // What remains has one number for each class; NaN equals none.
  for (int64_t i = 0; i < y.numel() && !live.empty(); ++i) {
    const int32_t label = y.data<int32_t>()[i];
    if (label < 0) continue;
    ++labelled;
    if (first[static_cast<size_t>(label)] < 0) first[static_cast<size_t>(label)] = i;
    std::erase_if(live, [&](const Candidate& c) { return x[i * width + c.column] != value(c, label); });
  }
  if (labelled < 2 * classes) return {};  // few rows agree by chance
  std::set<size_t> copies, marks;         // encoders; a mark is of one class alone
  std::vector<bool> marked(static_cast<size_t>(classes));
  for (const Candidate& c : live) {
    std::vector<float> values;
    for (int32_t label = 0; label < classes; ++label) values.push_back(value(c, label));
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) copies.insert(c.encoder);
    for (const auto& [one, rest] :
         {std::pair(sorted.front(), sorted.back()), std::pair(sorted.back(), sorted.front())}) {
      if (std::ranges::count(values, one) != 1 || std::ranges::count(values, rest) != classes - 1) continue;
      marked[static_cast<size_t>(std::ranges::find(values, one) - values.begin())] = true;
      marks.insert(c.encoder);
    }
  }
  if (std::ranges::count(marked, true) >= classes - 1) copies.merge(marks);
  std::vector<std::string> names;
  for (const size_t e : copies) names.push_back(table.encoder.columns[e].column);
  return names;
}

}  // namespace adj
