#pragma once

#include "../common.h"

#include <map>
#include <optional>

namespace adj::apps {

/// A command line that was read and found sound.
struct CommandLine {
  Settings settings;
  /// What decides the result, as text by option: a checkpoint must agree with it.
  std::map<std::string, std::string> identity;
};

/// Reads argv and the file that --config names, where the command line wins. Empty if --help or --version was
/// asked for and has been printed. Throws UsageError, or DataError where the config file cannot be read: it
/// is a regular file or a pipe, of 1 MB at most.
std::optional<CommandLine> read_command_line(int argc, char** argv, const Program& program);

/// An option with a default, which --help shows as a person would write it: 0.72.
template <class T>
boost::program_options::typed_value<T>* with_default(T& value, const char* name = "N") {
  return boost::program_options::value(&value)
      ->default_value(value, fmt::format("{}", value))
      ->value_name(name);
}

/// Prints what --help is asked for.
void print_help(const std::string& usage, const std::string& summary,
                const boost::program_options::options_description& options);

}  // namespace adj::apps
