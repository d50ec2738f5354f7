#pragma once

#include <adjoint/training/report.h>

namespace adj::training {

class Run;

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
