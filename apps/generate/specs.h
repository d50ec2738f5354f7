#pragma once

#include <adjoint/data/generators.h>

#include <functional>
#include <string>

#include <boost/program_options.hpp>

namespace adj::apps {

/// A kind of dataset for `generate`: its options and its generator.
struct Spec {
  std::string name, summary;
  boost::program_options::options_description options;
  /// Throws adj::Error for options out of range or in conflict.
  std::function<Dataset(uint64_t seed)> make;
};

/// "citation, planted, …", the named graphs last.
std::string spec_names();
/// Throws UsageError for an unknown name.
Spec spec_named(const std::string& name);

}  // namespace adj::apps
