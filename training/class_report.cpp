#include <adjoint/core/text.h>
#include <adjoint/training/chart.h>
#include <adjoint/training/class_report.h>

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr size_t kFewClasses = 20, kMostRows = 50, kMostPairs = 20, kNameWidth = 24;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }

/// Width on a terminal, one column per character.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// Truncated to `width` characters, with a mark at the end.
std::string cut(const std::string& text, size_t width) {
  if (width_of(text) <= width) return text;
  size_t end = 0, seen = 0;
  while (seen < width || !begins_character(text[end])) seen += begins_character(text[end++]) ? 1 : 0;
  while (!begins_character(text[--end])) {
  }
  return text.substr(0, end) + "…";
}

std::string left(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string json_scores(const nn::ClassScores& s) {
  return fmt::format(R"("precision": {}, "recall": {}, "f1": {}, "support": {})", s.precision, s.recall, s.f1,
                     s.support);
}

}  // namespace

ClassReport::ClassReport(Labels labels, const Tensor& output, const Tensor& y, const Tensor& index,
                         std::vector<std::string> names, const Tensor& validation)
    : labels_(labels), names_(std::move(names)), examples_(index ? index.numel() : y.size(0)) {
  if (labels == Labels::several) {
    scores_ = nn::multilabel_report(output, y, index);
  } else {
    scores_ = nn::classification_report(output, y, index);
    confusions_ = nn::confusions(output, y, index);
    calibration_error_ = nn::expected_calibration_error(output, y, index);
    if (validation && validation.numel() > 0) {
      const double temperature = nn::calibration_temperature(output, y, validation);
      // At an end of the range, as where all validation nodes are right, they choose none.
      if (temperature > 0.01 && temperature < 100.0)
        scaled_ = {temperature, nn::expected_calibration_error(output, y, index, 15, temperature)};
    }
  }
}

bool ClassReport::few() const { return scores_.classes.size() <= kFewClasses; }

std::string ClassReport::label_of(size_t c) const {
  return names_.empty() ? fmt::format("{}", c)
                        : fmt::format("{} {}", c, cut(printable(names_[c]), kNameWidth));
}

std::string ClassReport::calibration() const {
  return fmt::format("expected calibration error of the probabilities {:.4f} (15 bins){}", calibration_error_,
                     scaled_ ? fmt::format(", {:.4f} at temperature {:.3f}, which validation chose",
                                           scaled_->error, scaled_->temperature)
                             : "");
}

std::vector<nn::Confusion> ClassReport::confused() const {
  std::vector<nn::Confusion> pairs;
  for (const nn::Confusion& c : confusions_)
    if (c.label != c.predicted) pairs.push_back(c);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  return pairs;
}

void ClassReport::print(const std::string& heading) const {
  fmt::print("\n{}\n", heading);
  print_scores();
  if (labels_ == Labels::several) return;
  few() ? print_matrix() : print_confused();
}

std::vector<std::pair<std::string, nn::ClassScores>> ClassReport::score_lines(
    const std::vector<size_t>& classes) const {
  std::vector<std::pair<std::string, nn::ClassScores>> lines;
  for (const size_t c : classes) lines.emplace_back(label_of(c), scores_.classes[c]);
  lines.emplace_back("mean over classes", scores_.macro);
  lines.emplace_back("weighted by support", scores_.weighted);
  lines.emplace_back(labels_ == Labels::several ? "all labels together" : "all (accuracy)", scores_.micro);
  return lines;
}

void ClassReport::print_scores() const {
  std::vector<size_t> rows(scores_.classes.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  if (rows.size() > kMostRows) {
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return scores_.classes[a].support > scores_.classes[b].support;
    });
    rows.resize(kMostRows);
    fmt::print("the {} largest of {} classes\n", kMostRows, scores_.classes.size());
  }
  const auto lines = score_lines(rows);
  size_t width = 0;
  for (const auto& line : lines) width = std::max(width, width_of(line.first));
  fmt::print("{}  precision  recall      F1  support\n", left("", width));
  for (const auto& [name, s] : lines)
    fmt::print("{}  {:9.4f}  {:6.4f}  {:6.4f}  {:7}\n", left(name, width), s.precision, s.recall, s.f1,
               s.support);
  if (labels_ != Labels::several) fmt::print("{}\n", calibration());
}

std::vector<int64_t> ClassReport::matrix() const {
  const size_t classes = scores_.classes.size();
  std::vector<int64_t> counts(classes * classes);
  for (const nn::Confusion& c : confusions_)
    counts[static_cast<size_t>(c.label) * classes + static_cast<size_t>(c.predicted)] = c.count;
  return counts;
}

void ClassReport::print_matrix() const {
  const size_t classes = scores_.classes.size();
  const std::vector<int64_t> counts = matrix();
  size_t width = 0, cell = fmt::format("{}", classes - 1).size();
  for (const nn::Confusion& c : confusions_) cell = std::max(cell, fmt::format("{}", c.count).size());
  for (size_t c = 0; c < classes; ++c) width = std::max(width, width_of(label_of(c)));
  width = std::max(width, std::string("label, predicted as").size());
  std::string line = left("label, predicted as", width);
  for (size_t c = 0; c < classes; ++c) line += fmt::format("  {:>{}}", c, cell);
  fmt::print("\n{}\n", line);
  for (size_t r = 0; r < classes; ++r) {
    line = left(label_of(r), width);
    for (size_t c = 0; c < classes; ++c) {
      const int64_t count = counts[r * classes + c];
      line += fmt::format("  {:>{}}", count == 0 ? "." : fmt::format("{}", count), cell);
    }
    fmt::print("{}\n", line);
  }
}

void ClassReport::print_confused() const {
  const std::vector<nn::Confusion> pairs = confused();
  fmt::print("\n{}\n",
             pairs.empty() ? "no class was mistaken for another" : "most often mistaken for another class:");
  size_t width = 0;
  for (const nn::Confusion& c : pairs)
    width = std::max(width, width_of(label_of(static_cast<size_t>(c.label))));
  for (const nn::Confusion& c : pairs)
    fmt::print("{}  {:5} of {:5} as {}\n", left(label_of(static_cast<size_t>(c.label)), width), c.count,
               scores_.classes[static_cast<size_t>(c.label)].support,
               label_of(static_cast<size_t>(c.predicted)));
}

std::string ClassReport::json() const {
  std::vector<std::string> classes, entries;
  for (size_t c = 0; c < scores_.classes.size(); ++c)
    classes.push_back(fmt::format(R"({{"class": {}, {}{}}})", c,
                                  names_.empty() ? "" : fmt::format(R"("name": {}, )", json_text(names_[c])),
                                  json_scores(scores_.classes[c])));
  std::string text = fmt::format(R"({{"examples": {}, "classes": [{}])", examples_, fmt::join(classes, ", "));
  for (const auto& [name, scores] :
       {std::pair("macro", &scores_.macro), {"weighted", &scores_.weighted}, {"micro", &scores_.micro}})
    text += fmt::format(R"(, "{}": {{{}}})", name, json_scores(*scores));
  if (labels_ == Labels::several) return text + "}";
  text += fmt::format(R"(, "ece": {})", calibration_error_);
  if (scaled_)
    text += fmt::format(R"(, "temperature": {}, "ece_scaled": {})", scaled_->temperature, scaled_->error);
  for (const nn::Confusion& c : confusions_)
    entries.push_back(fmt::format("[{}, {}, {}]", c.label, c.predicted, c.count));
  return text + fmt::format(R"(, "confusion": [{}]}})", fmt::join(entries, ", "));
}

std::string ClassReport::html() const {
  std::vector<size_t> all(scores_.classes.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::string text = "<table>\n" + table_row({"class", "precision", "recall", "F1", "support"}, "th");
  for (const auto& [name, s] : score_lines(all))
    text += fmt::format(
        "<tr><td>{}</td><td>{:.4f}</td><td>{:.4f}</td><td class=\"share\" style=\"--share: "
        "{:.1f}%\">{:.4f}</td><td>{}</td></tr>\n",
        xml_text(name), s.precision, s.recall, 100.0 * s.f1, s.f1, s.support);
  text += "</table>\n";
  if (labels_ == Labels::several) return text;
  text += fmt::format("<p>E{}</p>\n", calibration().substr(1));
  if (!few()) {
    text += "<table>\n" + table_row({"label", "taken for", "nodes"}, "th");
    for (const nn::Confusion& c : confused())
      text += table_row({xml_text(label_of(static_cast<size_t>(c.label))),
                         xml_text(label_of(static_cast<size_t>(c.predicted))), fmt::to_string(c.count)});
    return text + "</table>\n";
  }
  const std::vector<int64_t> counts = matrix();
  std::vector<std::string> head{"label, predicted as"};
  for (const size_t c : all) head.push_back(fmt::to_string(c));
  text += "<table>\n" + table_row(head, "th");
  for (const size_t r : all) {
    text += fmt::format("<tr><td>{}</td>", xml_text(label_of(r)));
    const auto support = static_cast<double>(std::max<int64_t>(1, scores_.classes[r].support));
    for (const size_t c : all) {
      const int64_t count = counts[r * all.size() + c];
      text += fmt::format("<td class=\"cell\" style=\"--share: {:.1f}%\">{}</td>",
                          70.0 * static_cast<double>(count) / support, count);
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace adj::training
