#pragma once

#include <adjoint/data/dataset.h>

#include <string>

namespace adj::apps {

/// Prints what is in a dataset on the CPU: counts, ranges of degrees, isolated nodes (no edge, in or out).
void print_summary(const std::string& path, const Dataset& data);

}  // namespace adj::apps
