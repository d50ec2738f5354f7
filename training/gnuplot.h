#pragma once

#include <string>

namespace adj::training {

/// Finds gnuplot; throws Error with what to install otherwise.
void require_gnuplot();
/// What gnuplot prints for `script`, on its standard input. Throws Error where it is missing or fails.
std::string run_gnuplot(const std::string& script);
/// Letters, digits and harmless signs; all others become '-', so that nothing can end a quoted string.
std::string plain(std::string text);

}  // namespace adj::training
