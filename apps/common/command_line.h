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

/// A training program's main(): reads the command line and calls train(settings), if there are any. The exit
/// status.
int run_training(int argc, char** argv, training::Options& options,
                 const std::function<void(const training::Settings&)>& train);

/// Prints options as one JSON object, for --check.
void print_options(const std::vector<training::Options::Group>& groups);

/// The options, which are set on notify().
boost::program_options::options_description table_of(const OptionList& options,
                                                     const std::string& caption = "Options");

/// Reads argv and sets the options, of a program with one table of them, or below the groups `all`; adds
/// --version and --help unless there. `words`: the options that plain words set, in order; a last one that
/// ends in "..." takes all others. `usage` begins with the program's name. False if --help or --version was
/// printed. Throws UsageError, with a suggestion for an unknown option.
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
