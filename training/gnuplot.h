#pragma once

#include <string>

namespace adj::training {

/// Throws Error with an installation hint if gnuplot is missing.
void require_gnuplot();
/// Output of gnuplot for `script`, passed on standard input. Throws Error if it is missing or fails.
std::string run_gnuplot(const std::string& script);
/// Keeps letters, digits and harmless signs; replaces others by '-', so that a quoted string cannot end
/// early.
std::string plain(std::string text);

}  // namespace adj::training
