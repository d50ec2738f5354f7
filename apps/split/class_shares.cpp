#include "class_shares.h"

#include <adjoint/adjoint.h>
#include <adjoint/data/detail/names.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace adj::apps {

namespace {

constexpr size_t kClassesShown = 20, kNamesShown = 5;

/// Numbers of examples in train, val and test, by class.
using ClassCounts = std::vector<std::array<int64_t, 3>>;

ClassCounts counts_of(const Dataset& data, const Split& split) {
  ClassCounts counts(static_cast<size_t>(data.classes));
  const int32_t* label = data.labels().data<int32_t>();
  const Tensor* parts[] = {&split.train, &split.val, &split.test};
  for (size_t p = 0; p < 3; ++p)
    for (const int32_t i : parts[p]->to_vector<int32_t>()) ++counts[static_cast<size_t>(label[i])][p];
  return counts;
}

std::string name_of_class(const Dataset& data, size_t k) {
  return data.class_names.empty() ? std::to_string(k) : excerpt(data.class_names[k]);
}

std::string cell(int64_t count, int64_t all) {
  return fmt::format("{} ({:.1f} %)", count,
                     all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all) : 0.0);
}

}  // namespace

void print_class_shares(const Dataset& data, const std::vector<Split>& splits) {
  if (!has_classes(data.task) || !data.labels()) return;
  const ClassCounts counts = counts_of(data, splits[0]);
  size_t width = 5;
  for (size_t k = 0; k < std::min(counts.size(), kClassesShown); ++k)
    width = std::max(width, name_of_class(data, k).size());
  fmt::print("{:<{}} {:>9} {:>18} {:>18} {:>18}\n", "class", width, "in parts", "train", "val", "test");
  for (size_t k = 0; k < std::min(counts.size(), kClassesShown); ++k) {
    const auto& [train, val, test] = counts[k];
    const int64_t all = train + val + test;
    fmt::print("{:<{}} {:>9} {:>18} {:>18} {:>18}\n", name_of_class(data, k), width, all, cell(train, all),
               cell(val, all), cell(test, all));
  }
  if (counts.size() > kClassesShown) fmt::print("and {} more classes\n", counts.size() - kClassesShown);

  std::vector<uint8_t> partial(counts.size());
  for (const Split& split : splits) {
    const ClassCounts some = counts_of(data, split);
    for (size_t k = 0; k < some.size(); ++k)
      partial[k] |= std::count(some[k].begin(), some[k].end(), 0) > 0 ? 1 : 0;
  }
  std::vector<std::string> names;
  for (size_t k = 0; k < partial.size(); ++k)
    if (partial[k] != 0) names.push_back(name_of_class(data, k));
  if (!names.empty())
    fmt::print("classes that are not in every part{}: {}\n", splits.size() > 1 ? " of every split" : "",
               detail::listed(names, kNamesShown));
}

}  // namespace adj::apps
