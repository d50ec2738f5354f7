#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj {

void expect_integer(const std::string& option, int64_t value, int64_t low, int64_t high) {
  if (value < low) throw UsageError(fmt::format("--{}: expected {} or more, got {}", option, low, value));
  if (value > high) throw UsageError(fmt::format("--{}: expected at most {}, got {}", option, high, value));
}

void expect_probability(const std::string& option, double value) {
  if (!(value >= 0.0 && value < 1.0))
    throw UsageError(fmt::format("--{}: expected a probability in [0, 1), got {}", option, value));
}

void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw UsageError(fmt::format("--{}: expected {}, got '{}'", option, fmt::join(choices, " or "), value));
}

}  // namespace adj
