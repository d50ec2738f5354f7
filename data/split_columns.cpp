#include <adjoint/data/detail/names.h>
#include <adjoint/data/split_columns.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace adj {

namespace {

void add_new(std::vector<std::string>& all, std::string name) {
  if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
}

}  // namespace

ColumnsOfPart::ColumnsOfPart(const Tensor& y, const Tensor& part) {
  if (!y || y.dims() != 2) return;
  const std::vector<float> values = y.to_vector<float>();
  const std::vector<int32_t> rows = part.to_vector<int32_t>();
  const auto columns = static_cast<size_t>(y.size(1));
  for (size_t t = 0; t < columns; ++t) {
    float first = std::nanf("");
    const bool differ = std::any_of(rows.begin(), rows.end(), [&](int32_t i) {
      const float value = values[static_cast<size_t>(i) * columns + t];
      if (std::isnan(first)) first = value;
      return !std::isnan(value) && value != first;
    });
    if (differ) continue;
    if (std::isnan(first))
      empty.push_back(t);
    else
      constant.emplace_back(t, first);
  }
}

UntrainedColumns::UntrainedColumns(const Tensor& y, Task task, const std::vector<std::string>& names,
                                   std::span<const Split> splits) {
  const auto name = [&](size_t t) { return names.empty() ? fmt::to_string(t) : names[t]; };
  for (const Split& split : splits) {
    const ColumnsOfPart train(y, split.train);
    for (const size_t t : train.empty) add_new(empty, name(t));
    if (has_targets(task)) continue;
    for (const auto& [t, value] : train.constant) add_new(constant, fmt::format("{} ({})", name(t), value));
  }
}

std::string UntrainedColumns::note(Task task) const {
  constexpr size_t kShown = 5;
  constexpr std::string_view kPart = " in the training part: ";
  std::string text;
  if (!empty.empty()) text = fmt::format("without a value{}{}", kPart, detail::listed(empty, kShown));
  if (!constant.empty())
    text +=
        fmt::format("{}of one class{}{}", text.empty() ? "" : "; ", kPart, detail::listed(constant, kShown));
  return text.empty() ? "" : fmt::format("{} {}", has_targets(task) ? "targets" : "labels", text);
}

}  // namespace adj
