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
/// asked for and has been printed. Throws UsageError, or DataError where the config file cannot be read.
std::optional<CommandLine> read_command_line(int argc, char** argv, const Program& program);

}  // namespace adj::apps
