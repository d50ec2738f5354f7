#pragma once

#include <adjoint/core/option.h>
#include <adjoint/training/settings.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>
#include <fmt/format.h>

// Command lines with Boost.Program_options.

namespace adj::apps {

/// An option with a default, shown by --help in short form: 0.72.
template <class T>
boost::program_options::typed_value<T>* with_default(
    T& value, const char* name = std::is_same_v<T, std::string> ? "NAME" : "N") {
  return boost::program_options::value(&value)
      ->default_value(value, fmt::format("{}", value))
      ->value_name(name);
}

/// Reads argv and the --config file into the options of a training program; the command line overrides the
/// file. Empty if --help or --version was printed. Throws UsageError, or DataError if the config file cannot
/// be read: a regular file or a pipe, of 1 MB at most.
std::optional<training::Settings> read_command_line(int argc, char** argv, training::Options& options);

/// A training program's main(): reads the command line and calls train(settings), if there are any. The exit
/// status.
int run_training(int argc, char** argv, training::Options& options,
                 const std::function<void(const training::Settings&)>& train);

/// Adds a list of options, which are set on notify().
void add_options(boost::program_options::options_description& description, const OptionList& options);
boost::program_options::options_description table_of(const OptionList& options,
                                                     const std::string& caption = "Options");

/// Parses argv against `options`: the values, stored but not yet notified. Other words are values of the
/// `positional` options, which may also be given by name; without `positional` they are refused. Throws
/// UsageError, with a suggestion for unknown options, or po::error.
boost::program_options::variables_map parse_command_line(
    int argc, char** argv, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description* positional = nullptr);

/// Parses argv the same way; `words`: the options that plain words set, in order; a last one that ends in
/// "..." takes all others. Empty if --help or --version was printed. `usage` begins with the program's name.
/// Throws UsageError or po::error.
std::optional<boost::program_options::variables_map> read_values(
    int argc, char** argv, const boost::program_options::options_description& options,
    const std::vector<std::string>& words, const std::string& usage, const std::string& summary);

/// Prints the --help.
void print_help(const std::string& usage, const std::string& summary,
                const boost::program_options::options_description& options);
/// Prints the version, as --version does.
void print_version(const std::string& program);
/// For a program with one table of options: reads argv as read_values() and sets them. `all`: groups of
/// options above. False if --help or --version was printed. Throws UsageError.
bool read_options(int argc, char** argv, boost::program_options::options_description options,
                  const std::vector<std::string>& words, const std::string& usage, const std::string& summary,
                  std::optional<boost::program_options::options_description> all = {});

/// For a program whose first word is one of `names`: its number. `usage`: "convert FORMAT ...". Empty if
/// --help or --version was printed. Throws UsageError.
std::optional<size_t> chosen_word(int argc, char** argv, const std::string& usage, const std::string& summary,
                                  const std::vector<std::string>& names);
/// The same; returns the one of `all` that has this name.
template <class Kind>
std::optional<Kind> chosen_kind(int argc, char** argv, const std::string& usage, const std::string& summary,
                                const std::vector<Kind>& all) {
  std::vector<std::string> names;
  for (const Kind& kind : all) names.push_back(kind.name);
  const auto number = chosen_word(argc, argv, usage, summary, names);
  return number ? std::optional(all[*number]) : std::nullopt;
}

/// An integer option with this value has no default in --help.
constexpr int64_t kNotGiven = std::numeric_limits<int64_t>::min();
/// --threads of a program without training, and --gzip of one that writes a dataset.
Option threads_option(int64_t& value);
Option gzip_option(int64_t& value);
/// 0: all cores.
void use_threads(int64_t threads);

}  // namespace adj::apps
