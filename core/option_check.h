#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Range checks of named options from a command line, a checkpoint or a model's options struct. All throw
// UsageError naming the option.

namespace adj {

/// The closest of `choices` to `word`: "epochs" for "epoch", "lr" for "learning-rate", "hidden" for
/// "hidden_dim". Empty if none is close.
std::string nearest(const std::string& word, const std::vector<std::string>& choices);
/// "; did you mean 'epochs'?" for the end of a message, or empty.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& choices);

/// Largest value of options that count: epochs, steps, fanouts.
inline constexpr int64_t kMostCounted = 1'000'000'000;

/// The value of an option in a text, all of which is the number. Throws UsageError.
int64_t read_integer(const std::string& option, const std::string& text);
double read_number(const std::string& option, const std::string& text);

/// Throws UsageError unless low <= value <= high.
void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high);
/// Throws UsageError unless 0 <= value < 1.
void expect_probability(const std::string& option, double value);
/// Throws UsageError unless `value` is one of `choices`.
void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices);

}  // namespace adj
