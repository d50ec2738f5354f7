#pragma once

#include "statistics.h"

namespace adj::apps {

/// Suspicious contents of a valid file: lines "FILE: PLACE: what was found".
std::vector<std::string> notes_of(const std::string& path, const Dataset& data, const Statistics& statistics);

}  // namespace adj::apps
