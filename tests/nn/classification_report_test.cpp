#include "../reference/plain.h"
#include <adjoint/nn/metrics/classification_report.h>
#include <adjoint/nn/metrics/metrics.h>

#include <limits>

using namespace adj;
using namespace adj::test;
using doctest::Approx;

namespace {

// The expected values are those of scikit-learn 1.9.1 (confusion_matrix, precision_recall_fscore_support with
// zero_division=0).
const std::vector<int32_t> kLabel{0, 2, 1, 2, 3, 1, 1, 0, 0, 1, 1, 2, 0, 0, 0,
                                  3, 0, 1, 3, 0, 1, 3, 0, 1, 3, 0, 1, 2, 1, 1};
const std::vector<int32_t> kPredicted{0, 2, 1, 2, 3, 0, 0, 0, 2, 1, 1, 2, 1, 0, 0,
                                      1, 0, 2, 3, 1, 1, 3, 0, 1, 3, 0, 1, 0, 1, 1};
const std::vector<float> kTargets{1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0,
                                  0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
const std::vector<float> kAnswers{1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1,
                                  1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0};

/// Logits that predict these classes.
Tensor logits_of(const std::vector<int32_t>& predicted, int64_t classes, Device device) {
  std::vector<float> values(predicted.size() * uz(classes), -1.0f);
  for (size_t i = 0; i < predicted.size(); ++i) values[i * uz(classes) + uz(predicted[i])] = 2.0f;
  return Tensor::from(values, {static_cast<int64_t>(predicted.size()), classes}, device);
}

void check_scores(const nn::ClassScores& scores, const nn::ClassScores& expected) {
  CHECK(scores.precision == Approx(expected.precision).epsilon(1e-12));
  CHECK(scores.recall == Approx(expected.recall).epsilon(1e-12));
  CHECK(scores.f1 == Approx(expected.f1).epsilon(1e-12));
  CHECK(scores.support == expected.support);
}

}  // namespace

TEST_CASE("a classification report has scikit-learn's values") {
  on_devices([&](Device device) {
    const Tensor logits = logits_of(kPredicted, 4, device), label = Tensor::from(kLabel, device);
    const nn::ClassificationReport report = nn::classification_report(logits, label);
    REQUIRE(report.classes.size() == 4);
    check_scores(report.classes[0], {0.7, 0.7, 0.7, 10});
    check_scores(report.classes[1], {0.7272727272727273, 0.7272727272727273, 0.7272727272727273, 11});
    check_scores(report.classes[2], {0.6, 0.75, 0.6666666666666666, 4});
    check_scores(report.classes[3], {1.0, 0.8, 0.8888888888888888, 5});
    check_scores(report.macro, {0.7568181818181818, 0.7443181818181819, 0.7457070707070707, 30});
    check_scores(report.weighted, {0.7466666666666666, 0.7333333333333333, 0.7370370370370372, 30});
    check_scores(report.micro, {0.7333333333333333, 0.7333333333333333, 0.7333333333333333, 30});
    CHECK(report.macro.f1 == Approx(nn::macro_f1(logits, label)).epsilon(1e-12));
    CHECK(report.micro.f1 == Approx(nn::accuracy(logits, label)).epsilon(1e-12));

    // Classes that do not occur change no mean.
    const nn::ClassificationReport wide = nn::classification_report(logits_of(kPredicted, 9, device), label);
    REQUIRE(wide.classes.size() == 9);
    check_scores(wide.classes[7], {0.0, 0.0, 0.0, 0});
    check_scores(wide.macro, report.macro);
    check_scores(wide.weighted, report.weighted);

    // For nodes 0, 1 and 5: classes 0, 2 and 1, predicted 0, 2 and 0.
    const nn::ClassificationReport some =
        nn::classification_report(logits, label, Tensor::from(std::vector<int32_t>{5, 0, 1}, device));
    check_scores(some.classes[0], {0.5, 1.0, 2.0 / 3.0, 1});
    check_scores(some.classes[1], {0.0, 0.0, 0.0, 1});
    check_scores(some.macro, {0.5, 2.0 / 3.0, 5.0 / 9.0, 3});
  });
}

TEST_CASE("a confusion matrix has scikit-learn's values, with a row for each label") {
  on_devices([&](Device device) {
    const Tensor logits = logits_of(kPredicted, 4, device), label = Tensor::from(kLabel, device);
    const Tensor matrix = nn::confusion_matrix(logits, label);
    CHECK(matrix.shape() == Shape{4, 4});
    CHECK(matrix.to_vector<int64_t>() ==
          std::vector<int64_t>{7, 2, 1, 0, 2, 8, 1, 0, 1, 0, 3, 0, 0, 1, 0, 4});
    std::vector<int64_t> again(16);
    int64_t before = -1;
    for (const nn::Confusion& c : nn::confusions(logits, label)) {
      const int64_t cell = 4 * c.label + c.predicted;
      CHECK(c.count > 0);
      CHECK(cell > before);
      before = cell;
      again[uz(cell)] = c.count;
    }
    CHECK(again == matrix.to_vector<int64_t>());
    const Tensor some = Tensor::from(std::vector<int32_t>{5, 0, 1}, device);
    CHECK(nn::confusion_matrix(logits, label, some).to_vector<int64_t>() ==
          std::vector<int64_t>{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  });
}

TEST_CASE("a multilabel report has scikit-learn's values, and skips missing labels") {
  on_devices([&](Device device) {
    std::vector<float> answers = kAnswers;
    for (float& a : answers) a -= 0.5f;
    std::vector<float> targets = kTargets;
    const auto report_of = [&] {
      return nn::multilabel_report(Tensor::from(answers, {std::ssize(answers) / 3, 3}, device),
                                   Tensor::from(targets, {std::ssize(targets) / 3, 3}, device));
    };
    const nn::ClassificationReport report = report_of();
    REQUIRE(report.classes.size() == 3);
    check_scores(report.classes[0], {0.8888888888888888, 0.8, 0.8421052631578947, 10});
    check_scores(report.classes[1], {0.7142857142857143, 1.0, 0.8333333333333334, 5});
    check_scores(report.classes[2], {0.25, 0.5, 0.3333333333333333, 2});
    check_scores(report.macro, {0.6177248677248678, 0.7666666666666666, 0.6695906432748538, 17});
    check_scores(report.weighted, {0.7623716153127917, 0.8235294117647058, 0.7796697626418988, 17});
    check_scores(report.micro, {0.7, 0.8235294117647058, 0.7567567567567568, 17});

    const float none = std::numeric_limits<float>::quiet_NaN();
    answers.insert(answers.end(), {1.0f, -1.0f, 1.0f});
    targets.insert(targets.end(), {none, none, none});
    check_scores(report_of().micro, report.micro);
  });
}

TEST_CASE("reports refuse inputs for which they are undefined") {
  const Tensor logits = Tensor::zeros({3, 2}), label = Tensor::from(std::vector<int32_t>{0, 1, 1});
  const Tensor none = Tensor::empty({0}, DType::i32), outside = Tensor::from(std::vector<int32_t>{3});
  const Tensor wrong = Tensor::from(std::vector<int32_t>{0, 1, 2}),
               negative = Tensor::from(std::vector<int32_t>{0, -1, 1});
  const auto refuses = [](auto f, const char* part) { CHECK(mentions(error_of(f), part)); };
  refuses([&] { nn::classification_report(logits, label, none); }, "no nodes selected");
  refuses([&] { nn::confusion_matrix(logits, label, outside); }, "index 3");
  refuses([&] { nn::confusions(logits, wrong); }, "label 2 of node 2");
  refuses([&] { nn::confusion_matrix(logits, negative); }, "label -1 of node 1");
  refuses([&] { nn::classification_report(Tensor::zeros({2, 2}), label); }, "[2, 2]");
  refuses([&] { nn::classification_report(Tensor::zeros({3}), label); }, "expected [N, C]");
  refuses([&] { nn::multilabel_report(logits, Tensor::zeros({3, 1})); }, "[3, 1]");
  refuses([&] { nn::multilabel_report(logits, logits, none); }, "no nodes selected");
}
