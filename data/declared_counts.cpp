#include <adjoint/data/detail/declared_counts.h>

#include <iterator>
#include <vector>

namespace adj::detail {

ClassLabels::ClassLabels(const Tensor& y) {
  const int32_t *begin = y.data<int32_t>(), *end = begin + y.numel();
  if (begin == end) return;
  const int32_t* found = std::max_element(begin, end);
  largest = *found;
  position = found - begin;
  if (largest < 0) return;
  if (largest < most_classes(y.numel())) {
    std::vector<bool> seen(static_cast<size_t>(largest) + 1);
    for (const int32_t* label = begin; label < end; ++label)
      if (*label >= 0) seen[static_cast<size_t>(*label)] = true;
    used = std::count(seen.begin(), seen.end(), true);
    return;
  }
  std::vector<int32_t> labels;
  std::copy_if(begin, end, std::back_inserter(labels), [](int32_t label) { return label >= 0; });
  std::sort(labels.begin(), labels.end());
  used = std::unique(labels.begin(), labels.end()) - labels.begin();
}

std::string ClassLabels::expected() const {
  return fmt::format("expected classes numbered from 0, to {} as {} are in use", most_classes(used) - 1,
                     used);
}

}  // namespace adj::detail
