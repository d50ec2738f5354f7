#pragma once

#include <adjoint/core/random.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a search of options chooses from.

namespace adj::training {

/// An option that a search chooses: one of `choices`, or a number from `low` to `high`, both included.
struct Parameter {
  enum class Kind : uint8_t { choice, integer, real };
  /// Active only where an earlier parameter has one of these choices, by their numbers.
  struct Condition {
    size_t parameter;
    std::vector<size_t> choices;
  };

  std::string name;                       ///< of the option: "weight-decay"
  Kind kind = Kind::choice;               ///< of its values
  std::vector<std::string> choices = {};  ///< as text
  double low = 0.0, high = 0.0;
  bool log = false;                  ///< uniform in the logarithm
  double step = 1.0;                 ///< of integers, which are low + k step; 1 with `log`
  int64_t points = 0;                ///< of reals in a grid; 2 or more; 0: it cannot be in one
  std::vector<Condition> when = {};  ///< all must hold

  /// The value as an option's text; reals as the shortest text with the same bits.
  std::string text(double value) const;
  /// Where reals and integers are sampled: [low, high] of reals and [low - step/2, high + step/2] of
  /// integers, or the logarithms of these.
  std::pair<double, double> interval() const;
  /// The closest value of the parameter to a number of interval().
  double value_in(double position) const;
  double position_of(double value) const;  ///< value, or its logarithm
  /// Values of a grid, in order: all choices, all integers, `points` reals at equal distances, to 12 digits.
  std::vector<double> grid() const;
};

/// The value of each parameter: a number, or the number of a choice; none of those that are not active.
using Assignment = std::vector<std::optional<double>>;

/// Whether parameter k is active where the earlier ones have these values.
bool is_active(const std::vector<Parameter>& space, const Assignment& values, size_t k);

/// Random numbers of one parameter of one trial: a function of seed, trial and parameter only, whatever else
/// is drawn.
class Draws {
 public:
  Draws(uint64_t seed, size_t trial, size_t parameter);
  double uniform();            ///< in [0, 1), 53 bits
  double normal();             ///< standard (Box-Muller)
  size_t below(size_t count);  ///< uniform in 0 … count - 1

 private:
  uint64_t seed_, stream_, block_ = 0;
};

/// A uniform value of the parameter.
double random_value(const Parameter& parameter, Draws& draws);
/// Uniform values of all active parameters of trial `trial`.
Assignment random_assignment(const std::vector<Parameter>& space, uint64_t seed, size_t trial);
/// All combinations of grid values, the last parameter's changing first; inactive ones are left out.
std::vector<Assignment> grid_of(const std::vector<Parameter>& space);

}  // namespace adj::training
