#pragma once

#include <adjoint/data/dataset.h>

#include <functional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace adj::apps {

/// A format that `convert` reads: its own options, and what becomes of them once they are read.
struct Format {
  std::string name, summary;
  boost::program_options::options_description options;
  /// Throws DataError where the input is not what it must be, UsageError where options do not go together.
  std::function<Dataset(const std::string& input)> import;
  /// The files besides the input that its options name, by option; read once the options are.
  std::function<std::vector<std::pair<std::string, std::string>>()> files = [] {
    return std::vector<std::pair<std::string, std::string>>();
  };
  /// What import() took for granted, a line each, for the summary.
  std::function<std::vector<std::string>()> notes = [] { return std::vector<std::string>(); };
};

/// One function a format, which the table in formats.cpp lists. Each makes its options anew.
Format edges_format();
Format graphland_format();
Format npz_format();
Format ogb_format();
Format tu_format();

/// "edges, …".
std::string format_names();
/// Throws UsageError where there is none of that name.
Format format_named(const std::string& name);

}  // namespace adj::apps
