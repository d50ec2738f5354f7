#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/training/class_weights.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace adj::training {

namespace {

constexpr size_t kShown = 20;

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double weight_in(const std::string& text) {
  const auto weight = number_in<double>(text);
  if (!weight || !std::isfinite(*weight) || *weight <= 0.0)
    usage_fail("--class-weights: expected none, balanced, or numbers above 0 (1,2.5 or NAME=2.5), got '{}'",
               excerpt(text));
  return *weight;
}

/// The class of that name, or else of that number.
size_t class_in(const std::string& text, const std::vector<std::string>& names, int64_t classes) {
  const auto named = std::find(names.begin(), names.end(), text);
  if (named != names.end()) return static_cast<size_t>(named - names.begin());
  const auto number = number_in<int64_t>(text);
  if (number && *number >= 0 && *number < classes) return static_cast<size_t>(*number);
  usage_fail("--class-weights: no class '{}', expected {}{}", excerpt(text),
             names.empty() ? fmt::format("0 to {}", classes - 1) : detail::listed(names, kShown),
             did_you_mean(text, names));
}

/// By column of several labels: training examples without it over those with it; unknown ones do not count.
std::vector<float> positive_weights(const Examples& examples) {
  const std::vector<float> y = examples.y.to_vector<float>();
  const auto columns = static_cast<size_t>(examples.outputs);
  std::vector<double> negative(columns), positive(columns);
  for (const int32_t i : examples.train.to_vector<int32_t>())
    for (size_t t = 0; t < columns; ++t) {
      const float label = y[static_cast<size_t>(i) * columns + t];
      if (!std::isnan(label)) ++(label > 0.5f ? positive : negative)[t];
    }
  std::vector<float> weights;
  for (size_t t = 0; t < columns; ++t)
    weights.push_back(negative[t] > 0.0 && positive[t] > 0.0 ? static_cast<float>(negative[t] / positive[t])
                                                             : 1.0f);
  return weights;
}

std::vector<double> counts_of(const Examples& examples) {
  const std::vector<int32_t> y = examples.y.to_vector<int32_t>();
  std::vector<double> counts(static_cast<size_t>(examples.outputs));
  for (const int32_t i : examples.train.to_vector<int32_t>())
    ++counts[static_cast<size_t>(y[static_cast<size_t>(i)])];
  return counts;
}

}  // namespace

ClassWeights::ClassWeights(const std::string& text, const Examples& examples,
                           const std::vector<std::string>& names)
    : balanced_(text == "balanced") {
  if (text == "none") return;
  if (examples.labels == Labels::numbers)
    usage_fail("--class-weights: {} has no classes to weight", examples.task);
  if (balanced_) return;
  const std::vector<std::string> parts = split_at_commas(text);
  const bool named = text.find('=') != std::string::npos;
  if (!named && std::ssize(parts) != examples.outputs)
    for (const std::string& part : parts) (void)weight_in(part);  // rather says what is no number
  if (!named && std::ssize(parts) != examples.outputs)
    usage_fail("--class-weights: {} number{}, expected one for each of {} {}, or NAME=NUMBER for some",
               parts.size(), parts.size() == 1 ? "" : "s", examples.outputs,
               word_for_outputs(examples.labels));
  weights_.assign(static_cast<size_t>(examples.outputs), 1.0);
  std::vector<bool> seen(weights_.size());
  for (size_t k = 0; k < parts.size(); ++k) {
    const size_t equals = parts[k].rfind('=');
    if (named && equals == std::string::npos)
      usage_fail("--class-weights: expected NAME=NUMBER, got '{}'", excerpt(parts[k]));
    const size_t c = named ? class_in(parts[k].substr(0, equals), names, examples.outputs) : k;
    if (seen[c]) usage_fail("--class-weights: class '{}' twice", excerpt(parts[k].substr(0, equals)));
    seen[c] = true;
    weights_[c] = weight_in(named ? parts[k].substr(equals + 1) : parts[k]);
  }
}

Tensor ClassWeights::fit(const Examples& examples) const {
  if (!balanced_ && weights_.empty()) return {};
  if (examples.labels == Labels::several)
    return Tensor::from(
        balanced_ ? positive_weights(examples) : std::vector<float>(weights_.begin(), weights_.end()),
        examples.y.device());
  const std::vector<double> counts = counts_of(examples);
  const auto present =
      static_cast<double>(std::count_if(counts.begin(), counts.end(), [](double n) { return n > 0.0; }));
  double n = 0.0, sum = 0.0;
  for (size_t c = 0; c < counts.size(); ++c) {
    n += counts[c];
    sum += counts[c] * (balanced_ ? 1.0 : weights_[c]);
  }
  std::vector<float> weights;
  for (size_t c = 0; c < counts.size(); ++c)
    weights.push_back(static_cast<float>(!balanced_        ? weights_[c] * n / sum
                                         : counts[c] > 0.0 ? n / (present * counts[c])
                                                           : 1.0));
  return Tensor::from(weights, examples.y.device());
}

std::string ClassWeights::describe(const Examples& examples, const std::vector<std::string>& names) const {
  const std::vector<float> weights = fit(examples).to_vector<float>();
  std::vector<std::string> texts;
  for (size_t c = 0; c < weights.size(); ++c)
    texts.push_back(
        fmt::format("{} {:.4g}", names.empty() ? fmt::to_string(c) : excerpt(names[c]), weights[c]));
  return detail::listed(texts, kShown);
}

}  // namespace adj::training
