#pragma once

#include "statistics.h"
#include <adjoint/data/typed_dataset.h>

namespace adj::apps {

/// Suspicious contents of a valid file: lines "FILE: PLACE: what was found".
std::vector<std::string> notes_of(const std::string& path, const Dataset& data, const Statistics& statistics);

/// Prints the name and the lines of a histogram.
void print_histogram(const std::string& name, const Counts& degrees);
/// {"min": 0, "max": 3, "mean": 1.5, "histogram": [[0, 0, 2], …]}.
std::string json_degrees(const Counts& degrees);

/// A JSON list of them.
std::string json_texts(const std::vector<std::string>& texts);

/// Results of `inspect`.
struct Report {
  std::string path;
  CheckedDataset checked;
  Statistics statistics;
  std::vector<std::string> extras;  ///< "nodes/id int64 [2708]": in the schema, but not an input of models
  std::vector<std::string> notes;
};

/// Summary, histograms, notes and problems; unreadable parts are left out.
void print_text(const Report& report);
/// One object on one line.
void print_json(const Report& report);

/// The same for a file of several types of nodes or edges: each with what its items have.
void print_text(const std::string& path, const CheckedTypedDataset& checked);
void print_json(const std::string& path, const CheckedTypedDataset& checked);

}  // namespace adj::apps
