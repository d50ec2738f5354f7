#pragma once

#include "statistics.h"

namespace adj::apps {

/// What a file may hold but its writer may not have meant: lines "FILE: PLACE: what was found".
std::vector<std::string> notes_of(const std::string& path, const Dataset& data, const Statistics& statistics);

}  // namespace adj::apps
