#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/table_head.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace adj {

namespace {

using Words = std::vector<std::string>;

struct Ends {
  std::string_view source, target;
};
/// Words for the two ends of an edge, those that leave the least doubt first.
constexpr Ends kEnds[] = {{"source", "target"},
                          {"src", "dst"},
                          {"source", "destination"},
                          {"src", "dest"},
                          {"from", "to"},
                          {"head", "tail"},
                          {"start", "end"},
                          {"subject", "object"},
                          {"origin", "destination"},
                          {"sender", "receiver"},
                          {"sender", "recipient"},
                          {"citing", "cited"},
                          {"follower", "followee"},
                          {"parent", "child"},
                          {"1", "2"},
                          {"a", "b"},
                          {"s", "t"},
                          {"u", "v"},
                          {"i", "j"},
                          {"row", "col"},
                          {"row", "column"},
                          {"0", "1"}};
/// From here on the names are used for much else.
constexpr size_t kAlike = 14;

template <size_t N>
bool is_one_of(const Words& words, const std::string_view (&known)[N]) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return std::find(std::begin(known), std::end(known), joined) != std::end(known);
}
bool is_weight(const Words& words) {
  constexpr std::string_view known[] = {"weight", "weights", "edge weight"};
  return is_one_of(words, known);
}
bool is_relation(const Words& words) {
  constexpr std::string_view known[] = {"relation",   "relation type", "relation id",  "rel",
                                        "rel type",   "predicate",     "relationship", "edge type",
                                        "edge label", "metaedge"};
  return is_one_of(words, known);
}
/// Names of columns that hold neither end. One without a name is a data frame's index.
bool is_other(const Words& words, size_t column) {
  constexpr std::string_view known[] = {"index", "unnamed 0", "edge id", "eid",       "type",
                                        "label", "class",     "split",   "time",      "date",
                                        "year",  "value",     "rating",  "timestamp", "count"};
  const bool index = column == 0 && words.size() == 1 && words[0] == "id";
  if (!words.empty() && (words.back() == "score" || words.back() == "confidence")) return true;
  return words.empty() || index || is_weight(words) || is_relation(words) || is_one_of(words, known);
}

/// The group of a Neo4j header, as in ":START_ID(Person)"; or empty.
std::string_view group_in(std::string_view name) {
  const size_t begin = name.find('(');
  return begin == std::string_view::npos || !name.ends_with(')') ? "" : name.substr(begin);
}

/// Pairs of columns whose names differ in one word only, in which they are the ends of an edge.
class EndPairs {
 public:
  explicit EndPairs(const std::vector<Words>& words) {
    for (size_t column = 0; column < words.size(); ++column)
      for (size_t place = 0; place < words[column].size(); ++place)
        for (size_t ends = 0; ends < std::size(kEnds); ++ends) {
          const std::string& word = words[column][place];
          if (word == kEnds[ends].source) add(words[column], place, ends, column, &Columns::sources);
          if (word == kEnds[ends].target) add(words[column], place, ends, column, &Columns::targets);
        }
  }
  /// Sets source and target to the pair whose names have the fewest words, end with "id" and leave the least
  /// doubt, and its rule. `none` if there are several such pairs. False if there is no pair. `alike`: names
  /// that are used for much else count.
  bool find_best(bool alike, EdgeColumns& found) const {
    const Key* best = nullptr;
    for (const auto& [key, columns] : columns_) {
      if (columns.sources.empty() || columns.targets.empty()) continue;
      const bool certain = key.ends < kAlike;
      if (!certain && (!alike || columns.sources[0] > columns.targets[0])) continue;
      if (best != nullptr && best->rank() == key.rank()) found.rule = EdgeColumns::Rule::none;  // a tie
      if (best != nullptr && best->rank() <= key.rank()) continue;
      best = &key;
      const bool one = columns.sources.size() == 1 && columns.targets.size() == 1;
      found.rule = !one      ? EdgeColumns::Rule::none
                   : certain ? EdgeColumns::Rule::known
                             : EdgeColumns::Rule::alike;
      found.source = columns.sources[0];
      found.target = columns.targets[0];
    }
    return best != nullptr;
  }

 private:
  struct Key {
    size_t words;
    bool no_id;
    size_t ends;
    std::string others;  ///< the other words, with the place of this one
    std::tuple<size_t, bool, size_t> rank() const { return {words, no_id, ends}; }
    bool operator<(const Key& o) const {
      return std::tie(words, no_id, ends, others) < std::tie(o.words, o.no_id, o.ends, o.others);
    }
  };
  struct Columns {
    std::vector<int64_t> sources, targets;
  };
  void add(const Words& words, size_t place, size_t ends, size_t column,
           std::vector<int64_t> Columns::*list) {
    Key key{words.size(), words.back() != "id", ends, {}};
    for (size_t k = 0; k < words.size(); ++k) key.others += (k == place ? std::string("?") : words[k]) + ' ';
    (columns_[key].*list).push_back(static_cast<int64_t>(column));
  }

  std::map<Key, Columns> columns_;
};

/// Sets source and target from the names, if they are certain.
void find_ends(std::span<const std::string> names, const std::vector<Words>& words, EdgeColumns& found) {
  std::vector<int64_t> rest;
  for (size_t k = 0; k < words.size(); ++k)
    if (words.size() == 2 || (!is_other(words[k], k) && static_cast<int64_t>(k) != found.weight &&
                              static_cast<int64_t>(k) != found.label))
      rest.push_back(static_cast<int64_t>(k));
  if (EndPairs(words).find_best(rest.size() == 2, found)) {
    found.two_kinds = group_in(names[static_cast<size_t>(found.source)]) !=
                      group_in(names[static_cast<size_t>(found.target)]);
    return;
  }
  if (rest.size() != 2) return;
  found.rule = EdgeColumns::Rule::rest;
  found.source = rest[0];
  found.target = rest[1];
  const Words &a = words[static_cast<size_t>(rest[0])], &b = words[static_cast<size_t>(rest[1])];
  found.two_kinds = a.size() > 1 && b.size() > 1 && a.back() == "id" && b.back() == "id" && a != b;
}

/// Applies the user's choices to what the names said.
void apply(const EdgeColumnNames& chosen, std::span<const std::string> names, int64_t columns,
           const std::string& place, EdgeColumns& found) {
  if (chosen.source.empty() != chosen.target.empty())
    data_fail("{}: --source without --target, or the reverse, expected both or neither", place);
  if (!chosen.source.empty()) {
    found.rule = EdgeColumns::Rule::chosen;
    found.source = chosen_column(chosen.source, names, columns, place);
    found.target = chosen_column(chosen.target, names, columns, place);
    found.two_kinds = false;
    found.relation = -1;
  }
  std::vector<int64_t> used{found.source, found.target};
  for (const int64_t column : {found.weight, found.label})
    if (column >= 0) used.push_back(column);
  std::sort(used.begin(), used.end());
  if (std::adjacent_find(used.begin(), used.end()) != used.end())
    data_fail("{}: one column for two purposes, expected source, target, weight and label in different ones",
              place);
}

}  // namespace

std::vector<std::string> words_in(std::string_view name) {
  if (!group_in(name).empty()) name = name.substr(0, name.find('('));
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::vector<std::string> words;
  char last = ' ';
  for (char c : name) {
    const bool letter = lower(c) || upper(c) || static_cast<unsigned char>(c) >= 0x80;
    if (letter || digit(c)) {
      const bool begins =
          words.empty() || last == ' ' || (lower(last) && upper(c)) || digit(last) != digit(c);
      if (begins) words.emplace_back();
      words.back() += upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    }
    last = letter || digit(c) ? c : ' ';
  }
  return words;
}

std::string EdgeColumns::str(std::span<const std::string> names, int64_t columns) const {
  if (columns == 2 && source == 0) return "";
  const auto name = [&](int64_t column) { return excerpt(column_name(column, names)); };
  return fmt::format("edges from {} to {}{}{}{}", name(source), name(target),
                     weight < 0 ? "" : "; weights from " + name(weight),
                     label < 0 ? "" : "; labels from " + name(label),
                     passed_over(std::array{source, target, weight, label}, names, columns));
}

EdgeColumns edge_columns(std::span<const std::string> names, const EdgeColumnNames& chosen,
                         const std::string& place) {
  constexpr size_t kLongestName = 100;
  EdgeColumns found;
  std::vector<Words> words;
  const int64_t columns = std::ssize(names);
  for (int64_t k = 0; k < columns; ++k) {
    const std::string& name = names[static_cast<size_t>(k)];
    words.push_back(name.size() > kLongestName ? Words{name.substr(0, kLongestName)} : words_in(name));
    if (is_relation(words.back()) || name == ":TYPE") found.relation = k;
    if (is_weight(words.back()) && chosen.weight.empty()) found.weight = k;
    if (words.back() == Words{"type"}) found.direction = k;
  }
  if (chosen.weighted()) found.weight = chosen_column(chosen.weight, names, columns, place);
  if (!chosen.label.empty()) found.label = chosen_column(chosen.label, names, columns, place);
  if (found.relation == found.label) found.relation = -1;  // what the user says they are
  find_ends(names, words, found);
  apply(chosen, names, columns, place, found);
  for (const int64_t column : {found.source, found.target, found.weight, found.label})
    if (column == found.direction) found.direction = -1;
  return found;
}

EdgeColumns edge_columns(int64_t columns, const EdgeColumnNames& chosen, const std::string& place) {
  EdgeColumns found;
  found.rule = EdgeColumns::Rule::first;
  if (chosen.weighted()) found.weight = chosen_column(chosen.weight, {}, columns, place);
  if (!chosen.label.empty()) found.label = chosen_column(chosen.label, {}, columns, place);
  apply(chosen, {}, columns, place, found);
  return found;
}

void EdgeDirections::count(std::string_view field) {
  if (field.size() != 8 && field.size() != 10) return;
  const std::string word = lower(field);
  directed += word == "directed";
  undirected += word == "undirected";
}

bool is_title(std::span<const std::string> first, std::span<const std::string> second) {
  const auto names_ends = [](std::span<const std::string> names) {
    return edge_columns(names, {}, "").rule == EdgeColumns::Rule::known;
  };
  return first.size() == second.size() && std::ranges::find(first, "") != first.end() && names_ends(second) &&
         !names_ends(first);
}

bool is_common_name(const std::string& field) {
  if (is_column_name(field) || field.find(":ID") != std::string::npos) return true;
  const std::vector<std::string> words = words_in(field);
  return words.size() > 1 && (words.back() == "id" || words[0] == "node");
}

bool has_chosen_name(std::span<const std::string> fields, const EdgeColumnNames& chosen) {
  for (const std::string* choice : {&chosen.source, &chosen.target, &chosen.weight, &chosen.label})
    if (!choice->empty() && !is_number(*choice) && *choice != "none" &&
        std::find(fields.begin(), fields.end(), *choice) != fields.end())
      return true;
  return false;
}

}  // namespace adj
