#pragma once

#include <adjoint/data/typed_dataset.h>

#include <string>

namespace adj::apps {

/// Prints a line about a typed dataset, and one for each type: counts, features, labels, splits, times.
void print_summary(const std::string& path, const TypedDataset& data);

}  // namespace adj::apps
