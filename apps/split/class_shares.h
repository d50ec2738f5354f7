#pragma once

#include <adjoint/data/dataset.h>

#include <vector>

namespace adj::apps {

/// Prints how the first split divides each class, and which classes some split leaves out of a part; nothing
/// for labels that are no classes.
void print_class_shares(const Dataset& data, const std::vector<Split>& splits);

}  // namespace adj::apps
