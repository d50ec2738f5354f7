#pragma once

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

namespace adj::test {

/// True if `text` matches `pattern`, in which "…" is any text; prints both otherwise.
inline bool says(const std::string& text, const std::string& pattern) {
  const std::string any = "…";
  size_t at = 0, from = 0;
  for (size_t end; (end = pattern.find(any, from)) != std::string::npos; from = end + any.size()) {
    const std::string part = pattern.substr(from, end - from);
    const size_t found = text.find(part, at);
    if (found == std::string::npos || (from == 0 && found != 0)) {
      MESSAGE("\"" << text << "\", expected \"" << pattern << "\"");
      return false;
    }
    at = found + part.size();
  }
  const std::string last = pattern.substr(from);
  const bool good = from == 0 ? text == pattern : text.size() >= at + last.size() && text.ends_with(last);
  if (!good) MESSAGE("\"" << text << "\", expected \"" << pattern << "\"");
  return good;
}

}  // namespace adj::test
