#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Range checks of named options, on a command line, in a checkpoint or in a model's options struct. All throw
// UsageError, which names the option.

namespace adj {

/// The one of `choices` that who wrote `word` may have meant: "epochs" by "epoch", "lr" by "learning-rate",
/// "hidden" by "hidden_dim". Empty where none is much like it.
std::string nearest(const std::string& word, const std::vector<std::string>& choices);
/// "; did you mean 'epochs'?", or empty, for the end of a message.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& choices);

/// Throws UsageError unless low <= value <= high.
void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high);
/// Throws UsageError unless 0 <= value < 1.
void expect_probability(const std::string& option, double value);
/// Throws UsageError unless `value` is one of `choices`.
void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices);

}  // namespace adj
