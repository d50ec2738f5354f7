#pragma once

#include <adjoint/core/option.h>
#include <adjoint/training/options.h>

#include <string>

#include <boost/program_options.hpp>
#include <fmt/format.h>

// Command lines, by Boost.Program_options.

namespace adj::apps {

/// An option with a default, which --help shows as a person would write it: 0.72.
template <class T>
boost::program_options::typed_value<T>* with_default(T& value, const char* name = "N") {
  return boost::program_options::value(&value)
      ->default_value(value, fmt::format("{}", value))
      ->value_name(name);
}

/// Reads argv and the file that --config names, where the command line wins, into the options of a training
/// program. False if --help or --version was asked for and has been printed. Throws UsageError, or DataError
/// where the config file cannot be read: it is a regular file or a pipe, of 1 MB at most.
bool read_command_line(int argc, char** argv, training::Options& options);

/// Adds a list of options, which are set when the values are notified.
void add_options(boost::program_options::options_description& to, const OptionList& options);

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
