#include <adjoint/core/convert.h>
#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/nn/metrics/classification_report.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace adj::nn {

namespace {

std::vector<int32_t> selection(const char* name, const Tensor& index, int64_t n) {
  std::vector<int32_t> chosen(static_cast<size_t>(n));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (index) chosen = to_int32(name, "index", index, n).to_vector<int32_t>();
  ADJ_CHECK(!chosen.empty(), "{}: no nodes selected", name);
  for (int32_t i : chosen) ADJ_CHECK(i >= 0 && i < n, "{}: index {} is outside of the {} nodes", name, i, n);
  return chosen;
}

/// Label and prediction of every selected node.
std::vector<std::pair<int32_t, int32_t>> outcomes(const char* name, const Tensor& logits, const Tensor& label,
                                                  const Tensor& index) {
  ADJ_CHECK(logits.dims() == 2 && label.dims() == 1 && logits.size(0) == label.size(0),
            "{}: logits {} for labels {}, expected [N, C] and [N]", name, logits.str(), label.str());
  const int64_t classes = logits.size(1);
  Tensor best = Tensor::empty({logits.size(0)}, DType::i32, logits.device());
  kernels::argmax_columns({.x = logits, .y = best});
  const auto predicted = best.to_vector<int32_t>(),
             truth = to_int32(name, "label", label, logits.size(1)).to_vector<int32_t>();
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t i : selection(name, index, label.size(0))) {
    const int32_t t = truth[static_cast<size_t>(i)];
    ADJ_CHECK(t >= 0 && t < classes, "{}: label {} of node {} is not one of {} classes", name, t, i, classes);
    pairs.emplace_back(t, predicted[static_cast<size_t>(i)]);
  }
  return pairs;
}

/// Counts of a class: correct, predicted and present.
struct Counts {
  int64_t hit = 0, predicted = 0, present = 0;
};

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

ClassScores scores_of(const Counts& c) {
  return {ratio(c.hit, c.predicted), ratio(c.hit, c.present), ratio(2 * c.hit, c.predicted + c.present),
          c.present};
}

void add(ClassScores& sum, const ClassScores& scores, double weight) {
  sum.precision += weight * scores.precision;
  sum.recall += weight * scores.recall;
  sum.f1 += weight * scores.f1;
}

ClassificationReport report_of(const std::vector<Counts>& counts) {
  ClassificationReport report;
  Counts all;
  int64_t occurring = 0;
  for (const Counts& c : counts) {
    report.classes.push_back(scores_of(c));
    occurring += c.predicted + c.present > 0 ? 1 : 0;
    all = {all.hit + c.hit, all.predicted + c.predicted, all.present + c.present};
  }
  report.micro = scores_of(all);
  for (const ClassScores& scores : report.classes) {
    add(report.macro, scores, ratio(1, occurring));  // absent classes are 0
    add(report.weighted, scores, ratio(scores.support, all.present));
  }
  report.macro.support = report.weighted.support = all.present;
  return report;
}

}  // namespace

Tensor confusion_matrix(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto pairs = outcomes("confusion_matrix", logits, label, index);
  const int64_t classes = logits.size(1);
  std::vector<int64_t> counts(static_cast<size_t>(classes * classes));
  for (const auto& [truth, predicted] : pairs) ++counts[static_cast<size_t>(truth * classes + predicted)];
  return Tensor::from(counts, {classes, classes});
}

std::vector<Confusion> confusions(const Tensor& logits, const Tensor& label, const Tensor& index) {
  auto pairs = outcomes("confusions", logits, label, index);
  std::sort(pairs.begin(), pairs.end());
  std::vector<Confusion> entries;
  for (const auto& [truth, predicted] : pairs) {
    if (entries.empty() || entries.back().label != truth || entries.back().predicted != predicted)
      entries.push_back({truth, predicted, 0});
    ++entries.back().count;
  }
  return entries;
}

ClassificationReport classification_report(const Tensor& logits, const Tensor& label, const Tensor& index) {
  const auto pairs = outcomes("classification_report", logits, label, index);
  std::vector<Counts> counts(static_cast<size_t>(logits.size(1)));
  for (const auto& [truth, predicted] : pairs) {
    ++counts[static_cast<size_t>(truth)].present;
    ++counts[static_cast<size_t>(predicted)].predicted;
    if (truth == predicted) ++counts[static_cast<size_t>(truth)].hit;
  }
  return report_of(counts);
}

ClassificationReport multilabel_report(const Tensor& logits, const Tensor& target, const Tensor& index) {
  ADJ_CHECK(logits.dims() == 2 && logits.size(1) > 0 && logits.shape() == target.shape(),
            "multilabel_report: {} for targets {}, expected [N, T] of both", logits.str(), target.str());
  const auto given = logits.to(DType::f64).to_vector<double>(),
             truth = target.to(DType::f64).to_vector<double>();
  const auto columns = static_cast<size_t>(logits.size(1));
  std::vector<Counts> counts(columns);
  for (int32_t i : selection("multilabel_report", index, logits.size(0)))
    for (size_t t = 0; t < columns; ++t) {
      const size_t at = static_cast<size_t>(i) * columns + t;
      if (std::isnan(truth[at])) continue;
      const bool predicted = given[at] > 0.0, present = truth[at] != 0.0;
      counts[t].predicted += predicted ? 1 : 0;
      counts[t].present += present ? 1 : 0;
      counts[t].hit += predicted && present ? 1 : 0;
    }
  return report_of(counts);
}

}  // namespace adj::nn
