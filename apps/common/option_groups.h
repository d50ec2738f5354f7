#pragma once

#include "command_line.h"

namespace adj::apps {

/// Reads the options of a program whose options are by groups, and completes them. False after --help,
/// --version and --check, which prints them as JSON: there is nothing to do. Throws UsageError.
template <class Options>
bool read_groups(int argc, char** argv, Options& options, const std::string& usage,
                 const std::string& purpose) {
  bool check = false;
  boost::program_options::options_description all, other("Other");
  other.add_options()("check", boost::program_options::bool_switch(&check),
                      "check the options, print them as JSON, and train nothing");
  for (const auto& group : options.groups()) all.add(table_of(group.options, group.name));
  if (!read_options(argc, argv, other, {"data"}, usage, purpose, all)) return false;
  options.complete();
  if (check) print_options(options.groups());
  return !check;
}

}  // namespace adj::apps
