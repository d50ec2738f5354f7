#pragma once

#include "statistics.h"

namespace adj::apps {

/// What `inspect` says of a file.
struct Report {
  std::string path;
  CheckedDataset checked;
  Statistics statistics;
  std::vector<std::string>
      extras;  ///< "nodes/id int64 [2708]": of the schema, but no part of a model's input
  std::vector<std::string> notes;
};

/// Summary, histograms, notes and problems; what could not be read is left out.
void print_text(const Report& report);
/// One object on one line.
void print_json(const Report& report);

}  // namespace adj::apps
