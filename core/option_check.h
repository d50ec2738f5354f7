#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Range checks of named options, on a command line, in a checkpoint or in a model's options struct. All throw
// UsageError, which names the option.

namespace adj {

/// Throws UsageError unless low <= value <= high.
void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high);
/// Throws UsageError unless 0 <= value < 1.
void expect_probability(const std::string& option, double value);
/// Throws UsageError unless `value` is one of `choices`.
void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices);

}  // namespace adj
