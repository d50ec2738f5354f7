#pragma once

#include "study.h"
#include <adjoint/data/import/detail/yaml_file.h>

// Parts of read_study(). All throw DataError "FILE:LINE: message".

namespace adj::apps {

inline constexpr size_t kMostTrials = 100'000;

/// The text of a single value; `key` is for the message.
std::string text_at(const adj::detail::YamlFile& file, const YAML::Node& node, const std::string& key);
void read_options(const adj::detail::YamlFile& file, Study& study);
void read_parameters(const adj::detail::YamlFile& file, Study& study);
/// Of `parameters`. `space`: those before it.
training::Parameter read_parameter(const std::string& path, const std::string& name, const YAML::Node& node,
                                   const std::vector<training::Parameter>& space);

}  // namespace adj::apps
