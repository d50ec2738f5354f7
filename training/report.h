#pragma once

#include <adjoint/core/profile.h>
#include <adjoint/graph/graph.h>
#include <adjoint/training/class_report.h>
#include <adjoint/training/record.h>

#include <optional>

namespace adj::training {

class Run;

/// The metric over examples whose node has least <= in-degree <= largest.
struct DegreeScore {
  int64_t least, largest, examples;
  double value;  ///< of the metric; NaN if undefined
};
/// Scores of outputs [N, T] on nodes `index` [K], int32, by in-degree: 0, 1, and from each power of two to
/// the next. Bins without examples are omitted.
std::vector<DegreeScore> scores_by_degree(const Graph& graph, const Metric& metric, const Tensor& output,
                                          const Tensor& y, const Tensor& index);

using ReportRows = std::vector<std::pair<std::string, std::string>>;  ///< "device": "cuda:0"

/// Contents of a training's HTML page; empty parts are omitted.
struct Report {
  std::string title;                               ///< of the page, and its heading
  ReportRows facts = {}, data = {}, options = {};  ///< tables of the run, the dataset and all options
  std::vector<Chart> charts = {};                  ///< of the training
  /// Columns of features, and how much the metric falls when each is shuffled; or why that is not known.
  std::vector<std::pair<std::string, double>> importance = {};
  std::string no_importance = {};           ///< why, in a sentence; else empty
  std::optional<Chart> embeddings = {};     ///< of nodes: embedding_chart()
  std::string scored = {};                  ///< the examples of `classes` and `degrees`, in a sentence
  std::optional<ClassReport> classes = {};  ///< absent for numbers and links
  std::string metric = {};                  ///< the metric of `degrees`
  std::vector<DegreeScore> degrees = {};    ///< for models of nodes
  std::vector<ProfileRow> profile = {};     ///< with --profile
};

/// A self-contained HTML page, without external scripts, styles, fonts or images. Follows the system's light
/// or dark theme.
std::string html(const Report& report);

/// The command, date, version and device of a training: rows of Report::facts.
ReportRows command_rows(const Run& run);
/// The dataset, its features with their scaling, and the examples of each part, by class where there are few.
ReportRows data_rows(const Run& run);
/// All options with their values; those that differ from the program's defaults are marked.
ReportRows option_rows(const Run& run);
/// Columns of features by permutation importance, by name, the most important ones; empty if there are none.
std::vector<std::pair<std::string, double>> importance_rows(const Run& run);
/// The embeddings of nodes in the plane of their principal components, coloured by class; empty without
/// embeddings.
std::optional<Chart> embedding_chart(const Run& run);

}  // namespace adj::training
