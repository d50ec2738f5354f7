#pragma once

#include <adjoint/data/import/table_head.h>

#include <optional>
#include <string>

#include <boost/program_options.hpp>

namespace adj::apps {

/// How tables are written: --comment, --encoding, --separator and --decimal.
struct TextOptions {
  std::string encoding, separator, decimal;
  std::optional<std::string> comment;

  /// `files`: which tables, for the help: "of all files". This must outlive the reading of the command line.
  void add_to(boost::program_options::options_description& description, const std::string& files);
  /// Whether one of them was chosen.
  bool any() const;
  /// Throws UsageError.
  TextFormat format() const;
};

}  // namespace adj::apps
