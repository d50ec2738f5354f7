#pragma once

#include <adjoint/data/dataset.h>

#include <functional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace adj::apps {

/// An input format of `convert`: its options and its reader.
struct Format {
  std::string name, summary;
  boost::program_options::options_description options;
  /// Throws DataError for invalid input, UsageError for conflicting options.
  std::function<Dataset(const std::string& input)> import;
  /// Further input files named by its options, by option; call after reading the options.
  std::function<std::vector<std::pair<std::string, std::string>>()> files = [] {
    return std::vector<std::pair<std::string, std::string>>();
  };
  /// Assumptions of import(), one line each, for the summary.
  std::function<std::vector<std::string>()> notes = [] { return std::vector<std::string>(); };
};

/// One function per format, listed in convert.cpp. Each call creates new options.
Format edges_format();
Format graphland_format();
Format npz_format();
Format ogb_format();
Format tu_format();

}  // namespace adj::apps
