#pragma once

#include "class_report.h"
#include "record.h"
#include <adjoint/core/profile.h>
#include <adjoint/graph/graph.h>

#include <optional>

namespace adj::training {

/// How well examples are told whose node has least <= in-degree <= largest.
struct DegreeScore {
  int64_t least, largest, examples;
  double value;  ///< of the metric; NaN where it is not defined on them
};
/// Of outputs [N, T] on nodes `index` [K], int32, by in-degree: 0, 1, and from each power of two to the next.
/// Bins without an example are left out.
std::vector<DegreeScore> scores_by_degree(const Graph& graph, const Metric& metric, const Tensor& output,
                                          const Tensor& y, const Tensor& index);

/// What a page says of a training; what is empty is left out.
struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< "device": "cuda:0"
  std::vector<Chart> charts = {};
  std::string scored = {};  ///< the examples of `classes` and `degrees`, in a sentence
  std::optional<ClassReport> classes = {};
  std::string metric = {};  ///< that `degrees` are of
  std::vector<DegreeScore> degrees = {};
  std::vector<ProfileRow> profile = {};
};

/// An HTML page that needs nothing else: no script, style sheet, font or image from elsewhere. Light or dark
/// as the reader's system is.
std::string html(const Report& report);

}  // namespace adj::training
