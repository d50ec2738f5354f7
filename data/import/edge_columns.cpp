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
#include <set>
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

/// Last words of names of times and places, which are no nodes beside other columns.
constexpr std::string_view kMoments[] = {"time", "times",    "date",  "dates",     "datetime", "timestamp",
                                         "ts",   "year",     "month", "day",       "hour",     "minute",
                                         "lat",  "latitude", "lon",   "longitude", "lng"};
/// Last words of names that rather describe nodes than name them, if another pair may name them.
constexpr std::string_view kDescribing[] = {"port", "ports", "bank", "type", "kind", "class"};
/// Words that say nothing of what the nodes are.
constexpr std::string_view kFillers[] = {"id", "ids", "node", "nodes", "index", "key", "name"};

template <size_t N>
bool is_in(const std::string_view (&known)[N], std::string_view word) {
  return std::find(std::begin(known), std::end(known), word) != std::end(known);
}
template <size_t N>
bool ends_in(const Words& words, const std::string_view (&known)[N]) {
  return !words.empty() && is_in(known, words.back());
}
Words without_fillers(Words words) {
  std::erase_if(words, [](const std::string& word) { return is_in(kFillers, word); });
  return words;
}

/// Names of two columns that pandas would call X and X.1.
bool is_repeated(const Words& a, const Words& b) {
  Words again = a;
  again.emplace_back("1");
  return a == b || again == b;
}

/// Whether names say the same but for words of the two ends: from_user and to_user_id.
bool are_ends(const Words& source, const Words& target) {
  const Words a = without_fillers(source), b = without_fillers(target);
  if (is_repeated(source, target) || is_repeated(target, source)) return true;
  if (a.size() != b.size()) return false;
  const auto is_end = [](const std::string& word) {
    constexpr std::string_view more[] = {"x",     "y",     "orig", "caller", "callee",
                                         "payer", "payee", "von",  "nach"};
    return is_in(more, word) || std::any_of(std::begin(kEnds), std::end(kEnds), [&](const Ends& ends) {
             return word == ends.source || word == ends.target;
           });
  };
  size_t differing = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    if (!is_end(a[k]) || !is_end(b[k])) return false;
    ++differing;
  }
  return differing <= 1;
}

/// The column with the type of an end: src_type of src_id, node1_type of node1; -1: none.
int64_t type_column(const std::vector<Words>& words, int64_t end) {
  const Words name = without_fillers(words[static_cast<size_t>(end)]);
  for (size_t k = 0; k < words.size() && !name.empty(); ++k) {
    Words other = without_fillers(words[k]);
    if (std::erase_if(other, [](const auto& word) { return word == "type" || word == "kind"; }) == 1 &&
        other == name)
      return static_cast<int64_t>(k);
  }
  return -1;
}

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
  explicit EndPairs(const std::vector<Words>& words) : words_(words) {
    for (size_t column = 0; column < words.size(); ++column)
      for (size_t place = 0; place < words[column].size(); ++place)
        for (size_t ends = 0; ends < std::size(kEnds); ++ends) {
          const std::string& word = words[column][place];
          if (word == kEnds[ends].source) add(words[column], place, ends, column, &Columns::sources);
          if (word == kEnds[ends].target) add(words[column], place, ends, column, &Columns::targets);
        }
  }
  /// Sets source and target to the pair whose names have the fewest words, end with "id" and leave the least
  /// doubt, and its rule. `none` if several pairs may be the ends. False if there is no pair. Names that are
  /// used for much else count for the columns in `rest`, and moments if `moments`.
  bool find_best(const std::vector<int64_t>& rest, bool moments, EdgeColumns& found) const {
    const Key* best = nullptr;
    for (const auto& [key, columns] : columns_) {
      if (!columns.complete() || (key.grade == kMoment && !moments)) continue;
      const bool certain = key.ends < kAlike;
      if (!certain && rest != std::vector{columns.sources[0], columns.targets[0]}) continue;
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
    if (best == nullptr) return false;
    if (best->grade == kDescription && repeats()) found.rule = EdgeColumns::Rule::none;
    for (const auto& [key, columns] : columns_)
      if (columns.complete() && key.ends < kAlike && key.grade == best->grade && !explains(*best, key))
        found.rule = EdgeColumns::Rule::none;
    return true;
  }

 private:
  enum Grade : uint8_t { kNode, kDescription, kMoment };
  struct Key {
    Grade grade;
    size_t words;
    bool no_id;
    size_t ends;
    std::string others;  ///< the other words, with the place of this one
    Words kind;          ///< those of them that say what the nodes are
    std::tuple<Grade, size_t, bool, size_t> rank() const { return {grade, words, no_id, ends}; }
    bool operator<(const Key& o) const {
      return std::tie(grade, words, no_id, ends, others) <
             std::tie(o.grade, o.words, o.no_id, o.ends, o.others);
    }
  };
  struct Columns {
    std::vector<int64_t> sources, targets;
    bool complete() const { return !sources.empty() && !targets.empty(); }
  };
  /// Whether a pair may be more about the nodes of the best one: from_user_city of from_user. Start and end
  /// alone may be a time instead.
  static bool explains(const Key& best, const Key& pair) {
    const bool range = kEnds[best.ends].source == "start" || kEnds[best.ends].source == "from";
    if (best.kind.empty() && best.no_id && range && !pair.no_id && !pair.kind.empty()) return false;
    return std::all_of(best.kind.begin(), best.kind.end(), [&](const std::string& word) {
      return std::find(pair.kind.begin(), pair.kind.end(), word) != pair.kind.end();
    });
  }
  void add(const Words& words, size_t place, size_t ends, size_t column,
           std::vector<int64_t> Columns::*list) {
    Words kind = words;
    kind.erase(kind.begin() + static_cast<int64_t>(place));
    kind = without_fillers(std::move(kind));
    const Grade grade = ends_in(kind, kMoments) ? kMoment : ends_in(kind, kDescribing) ? kDescription : kNode;
    Key key{grade, words.size(), words.back() != "id", ends, {}, std::move(kind)};
    for (size_t k = 0; k < words.size(); ++k) key.others += (k == place ? std::string("?") : words[k]) + ' ';
    (columns_[key].*list).push_back(static_cast<int64_t>(column));
  }

  /// Whether two columns have one name.
  bool repeats() const {
    const std::set<Words> names(words_.begin(), words_.end());
    return names.size() < words_.size() || std::any_of(names.begin(), names.end(), [&](Words name) {
             name.emplace_back("1");
             return name.size() > 1 && names.contains(name);
           });
  }

  std::map<Key, Columns> columns_;
  const std::vector<Words>& words_;
};

/// Sets source and target from the names, if they are certain.
void find_ends(const std::vector<Words>& words, EdgeColumns& found) {
  std::vector<int64_t> rest;
  for (size_t k = 0; k < words.size(); ++k)
    if (words.size() == 2 || (!is_other(words[k], k) && static_cast<int64_t>(k) != found.weight &&
                              static_cast<int64_t>(k) != found.label))
      rest.push_back(static_cast<int64_t>(k));
  constexpr std::string_view types[] = {"type", "kind"};
  if (rest.size() > 2)
    std::erase_if(rest, [&](int64_t column) {
      const Words& name = words[static_cast<size_t>(column)];
      return ends_in(name, kMoments) || ends_in(name, types);
    });
  if (EndPairs(words).find_best(rest, words.size() == 2, found) || rest.size() != 2) return;
  found.rule = EdgeColumns::Rule::rest;
  found.source = rest[0];
  found.target = rest[1];
}

/// Sets what the names say of the kinds of source and target.
void find_kinds(std::span<const std::string> names, const std::vector<Words>& words, EdgeColumns& found) {
  if (found.rule == EdgeColumns::Rule::none || words.empty()) return;
  const auto source = static_cast<size_t>(found.source), target = static_cast<size_t>(found.target);
  const Words &a = words[source], &b = words[target];
  found.unlike = !are_ends(a, b);
  if (found.unlike) {
    found.two_kinds = a.size() > 1 && b.size() > 1 && a.back() == "id" && b.back() == "id";
    return;
  }
  found.source_type = type_column(words, found.source);
  found.target_type = type_column(words, found.target);
  const bool typed =
      found.source_type >= 0 && found.target_type >= 0 && found.source_type != found.target_type;
  if (!typed) found.source_type = found.target_type = -1;
  found.two_kinds = typed || group_in(names[source]) != group_in(names[target]);
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

std::string EdgeColumns::guess_note(int64_t columns, std::string_view dashes) const {
  if (rule != Rule::first || columns < 3 || weight >= 0 || label >= 0) return "";
  return fmt::format(
      "; no header, so that ends are the first two ({0}source and {0}target: others; {0}weight COLUMN: "
      "weights)",
      dashes);
}

bool EdgeColumns::may_be_triples(std::span<const std::string> first,
                                 std::span<const std::string> second) const {
  const auto is_word = [](const std::string& field) { return !is_number(field) || is_code(field); };
  const auto is_triple = [&](std::span<const std::string> row) {
    return row.size() == 3 && !is_number(row[1]) && is_word(row[0]) == is_word(row[2]);
  };
  return rule == Rule::first && weight < 0 && label < 0 && is_triple(first) && is_triple(second);
}

std::string relation_note(int64_t edges, int64_t targets, std::string_view choice) {
  if (2 * targets > edges) return "";
  return fmt::format("; column 2 looks like a relation, with {} different text{} ({})", targets,
                     targets == 1 ? "" : "s", choice);
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
    if (words.back() == Words{"type"}) found.direction = k;
    if (is_weight(words.back()) && chosen.weight.empty()) {
      if (found.weight >= 0) found.other_weight = found.weight;
      found.weight = k;
    }
  }
  if (chosen.weighted()) found.weight = chosen_column(chosen.weight, names, columns, place);
  if (!chosen.label.empty()) found.label = chosen_column(chosen.label, names, columns, place);
  if (found.relation == found.label) found.relation = -1;  // what the user says they are
  find_ends(words, found);
  apply(chosen, names, columns, place, found);
  for (const int64_t column : {found.source, found.target, found.weight, found.label})
    if (column == found.direction) found.direction = -1;
  find_kinds(names, words, found);
  return found;
}

void expect_one_weight(const EdgeColumns& columns, std::span<const std::string> names,
                       const std::string& place, std::string_view option) {
  if (columns.other_weight < 0) return;
  data_fail("{}: {} and {} may both be weights, expected {} to say which (or none)", place,
            column_text(columns.other_weight, names), column_text(columns.weight, names), option);
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

bool names_ends_alone(std::span<const std::string> names) {
  const EdgeColumns columns = edge_columns(names, {}, "");
  return columns.rule == EdgeColumns::Rule::known &&
         std::ranges::all_of(std::array{columns.source, columns.target}, [&](int64_t column) {
           return without_fillers(words_in(names[static_cast<size_t>(column)])).size() == 1;
         });
}

bool names_nodes_of(std::string_view end, std::string_view column) {
  const auto without_id = [](Words words) {
    if (words.size() > 1 && words.back() == "id") words.pop_back();
    return words;
  };
  const Words nodes = without_id(words_in(column)), whole = words_in(end);
  Words stem = whole;
  std::erase_if(stem, [](const std::string& word) {
    return std::ranges::any_of(kEnds, [&](const Ends& e) { return word == e.source || word == e.target; });
  });
  return !nodes.empty() && (without_id(whole) == nodes || without_id(stem) == nodes);
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
