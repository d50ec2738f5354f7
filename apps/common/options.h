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
  /// What of it shapes the model and its training, for --json: members' names, "weight_decay", and values.
  std::vector<std::pair<std::string, std::string>> hyperparameters;
};

/// Reads argv and the file that --config names, where the command line wins. Empty if --help or --version was
/// asked for and has been printed. Throws UsageError, or DataError where the config file cannot be read: it
/// is a regular file or a pipe, of 1 MB at most.
std::optional<CommandLine> read_command_line(int argc, char** argv, const Program& program);

/// Empty for "all". Throws UsageError where --split is neither that nor a number of a split.
std::optional<int64_t> split_number(const std::string& split);

/// What models of a family are made by, for a command line that names the model itself; `settings` become the
/// family's defaults.
void add_model_options(const models::ModelFamily& family,
                       boost::program_options::options_description& options, Settings& settings);
/// Throws UsageError where a model's options, or those of its input, are out of range or do not go together.
void check_model_options(const models::ModelFamily& family, const Settings& settings);

/// Parses argv against `options`: the values, stored but not yet notified. Words that are no options are the
/// values of those that `positional` names, which may say the same; without it there are to be none. Throws
/// UsageError, which for an option that is none names one like it, or po::error.
boost::program_options::variables_map parse_command_line(
    int argc, char** argv, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description* positional = nullptr);

/// Prints what --help is asked for.
void print_help(const std::string& usage, const std::string& summary,
                const boost::program_options::options_description& options);
/// For a program of one table of options: parses argv and sets them. False if --help was asked for, and
/// `usage`, `summary` and the options have been printed. Throws UsageError.
bool read_options(int argc, char** argv, const boost::program_options::options_description& options,
                  const boost::program_options::positional_options_description& positional,
                  const std::string& usage, const std::string& summary);

}  // namespace adj::apps
