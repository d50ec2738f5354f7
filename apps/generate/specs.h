#pragma once

#include <adjoint/data/generators.h>

#include <functional>
#include <string>

#include <boost/program_options.hpp>

namespace adj::apps {

/// A kind of dataset that `generate` makes: its own options, and what becomes of them once they are read.
struct Spec {
  std::string name, summary;
  boost::program_options::options_description options;
  /// Throws adj::Error where options are out of range or contradict each other.
  std::function<Dataset(uint64_t seed)> make;
};

/// "citation, planted, …", the named graphs last.
std::string spec_names();
/// Throws UsageError where there is none of that name.
Spec spec_named(const std::string& name);

}  // namespace adj::apps
