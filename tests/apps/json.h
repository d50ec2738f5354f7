#pragma once

#include "process.h"

namespace adj::test {

/// Members of a flat JSON object in order, strings unquoted; empty if the line is not one.
inline std::vector<std::pair<std::string, std::string>> json_members(const std::string& line) {
  std::vector<std::pair<std::string, std::string>> members;
  size_t position = 1;
  const auto text = [&] {
    size_t end = line.find('"', position + 1);
    while (line[end - 1] == '\\') end = line.find('"', end + 1);
    std::string found = line.substr(position + 1, end - position - 1);
    position = end + 1;
    return found;
  };
  if (line.empty() || line.front() != '{' || line.back() != '}') return {};
  while (position < line.size() && line[position] == '"') {
    const std::string key = text();
    if (line.compare(position, 2, ": ") != 0) return {};
    position += 2;
    if (line[position] == '"') {
      members.emplace_back(key, text());
    } else {
      const size_t end = line.find_first_of(",}", position);
      members.emplace_back(key, line.substr(position, end - position));
      position = end;
    }
    position += line[position] == ',' ? 2 : 0;
  }
  return members;
}

/// The JSON object that a program printed last.
inline std::map<std::string, std::string> json_of(const Outcome& outcome) {
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(!lines.empty());
  std::map<std::string, std::string> found;
  for (const auto& [key, value] : json_members(lines.back())) found[key] = value;
  return found;
}

inline void check_json(const std::map<std::string, std::string>& json,
                       const std::vector<std::pair<std::string, std::string>>& expected) {
  for (const auto& [key, value] : expected) {
    CAPTURE(key);
    REQUIRE(json.count(key) == 1);
    CHECK(json.at(key) == value);
  }
}

}  // namespace adj::test
