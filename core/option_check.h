#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
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

/// The integers that an option takes, from `low` to `high` inclusive.
struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
};
/// The numbers that an option takes, from `low` to `high`; `with_low` and `with_high` include these ends.
struct NumberRange {
  double low, high;
  bool with_low = true, with_high = true;
};
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();  ///< `high` without a limit
inline constexpr NumberRange kPositive{0.0, kUnbounded, false, false},         ///< above 0, finite
    kNotNegative{0.0, kUnbounded, true, false},                                ///< 0 or more, finite
    kProbability{0.0, 1.0, true, false};                                       ///< in [0, 1)
using OptionRange = std::variant<std::monostate, IntegerRange, NumberRange>;   ///< monostate: any value

/// The value of an option in a text, all of which is the number. Throws UsageError that names the range;
/// whether a number is in it is for expect_in().
int64_t read_integer(const std::string& option, const std::string& text, const OptionRange& range = {});
/// Same; `inf` and `nan` are numbers.
double read_number(const std::string& option, const std::string& text, const OptionRange& range = {});

/// Throws UsageError unless the value is in the range, if there is one.
void expect_in(const OptionRange& range, const std::string& option, int64_t value);
void expect_in(const OptionRange& range, const std::string& option, double value);

/// Throws UsageError unless low <= value <= high.
void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high);
/// Throws UsageError unless `value` is one of `choices`.
void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices);

}  // namespace adj
