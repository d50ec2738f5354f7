#pragma once

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

namespace adj::test {

/// True if `text` matches `pattern`, in which "…" is any text; prints both otherwise.
inline bool says(const std::string& text, const std::string& pattern) {
  const std::string any = "…";
  size_t position = 0, begin = 0;
  for (size_t end; (end = pattern.find(any, begin)) != std::string::npos; begin = end + any.size()) {
    const std::string part = pattern.substr(begin, end - begin);
    const size_t found = text.find(part, position);
    if (found == std::string::npos || (begin == 0 && found != 0)) {
      MESSAGE("\"" << text << "\", expected \"" << pattern << "\"");
      return false;
    }
    position = found + part.size();
  }
  const std::string last = pattern.substr(begin);
  const bool good =
      begin == 0 ? text == pattern : text.size() >= position + last.size() && text.ends_with(last);
  if (!good) MESSAGE("\"" << text << "\", expected \"" << pattern << "\"");
  return good;
}

}  // namespace adj::test
