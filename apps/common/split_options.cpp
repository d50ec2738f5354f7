#include "split_options.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace adj::apps {

OptionList SplitOptions::list(const std::string& names) {
  return {{"split", &split, "TRAIN,VAL,TEST",
           "percentages of a random split of the nodes (or graphs) with a label, as 60,20,20" +
               (names.empty() ? "" : "; or " + names)},
          {"splits", &splits, "N", "number of random splits, with seeds --seed, --seed + 1, ...", true,
           IntegerRange{1, 10'000}},
          {"seed", &seed, "N", "seed of the first random split", true,
           IntegerRange{0, std::numeric_limits<int32_t>::max()}},
          {"stratified", &stratified, "", "keep class proportions in each part"}};
}

SplitFractions SplitOptions::fractions() const {
  std::vector<double> shares;
  double all = 0.0;
  std::istringstream items(split);
  for (std::string item; std::getline(items, item, ',');) {
    const double share =
        number_in<double>(std::string_view(item).substr(std::min(item.find_first_not_of(' '), item.size())))
            .value_or(0.0);
    shares.push_back(share > 0.0 ? share : std::numeric_limits<double>::quiet_NaN());
    all += shares.back();
  }
  if (shares.size() != 3 || !(std::abs(all - 100.0) <= 1e-6) || split.ends_with(','))
    usage_fail("--split {}: expected three percentages above 0 that add up to 100, as in 60,20,20", split);
  return {.val = shares[1] / 100.0, .test = shares[2] / 100.0};
}

std::optional<RandomSplits> SplitOptions::random(bool names) const {
  if (split.empty() || (names && !is_random())) {
    const char* wanted = names ? "--split TRAIN,VAL,TEST" : "--split";
    if (stratified) usage_fail("--stratified: requires {}", wanted);
    if (seed != 0) usage_fail("--seed: requires {}", wanted);
    if (splits != 1) usage_fail("--splits: requires {}", wanted);
    return {};
  }
  return RandomSplits{fractions(), static_cast<uint64_t>(seed), stratified, splits};
}

}  // namespace adj::apps
