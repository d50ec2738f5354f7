#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/records.h>
#include <adjoint/data/import/split_table.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace adj {

namespace {

/// Up to here a name may also be that of another thing, as city_id of people.
constexpr int kWeakFit = 2;

/// How well a name fits a node's id; 0: not at all.
int fit_of_id(const std::string& name) {
  if (name.find(":ID") != std::string::npos) return 5;  // Neo4j
  const std::vector<std::string> words = words_in(name);
  using Words = std::vector<std::string>;
  if (words == Words{"node", "id"} || words == Words{"nodeid"} || words == Words{"vertex", "id"}) return 5;
  if (words == Words{"id"}) return 4;
  if (words == Words{"node"} || words == Words{"vertex"} || words == Words{"nid"}) return 3;
  constexpr std::string_view kIds[] = {"uid", "uuid", "userid", "itemid", "paperid", "authorid", "movieid"};
  constexpr std::string_view kNoNodes[] = {"class", "label", "type", "category", "cluster", "community"};
  if (words.size() > 1 && words.back() == "id")
    return std::ranges::find(kNoNodes, words[words.size() - 2]) == std::end(kNoNodes) ? 2 : 0;
  if (words.size() == 1 && std::ranges::find(kIds, words[0]) != std::end(kIds)) return 2;
  return words == Words{"name"} || words == Words{"node", "name"} ? 1 : 0;
}

/// Whether it is called as ids or as numbers of things are: customer_no.
bool is_key(const std::string& name) {
  constexpr std::string_view kKeys[] = {"no", "nr", "num", "number", "code", "key", "ref"};
  const std::vector<std::string> words = words_in(name);
  return fit_of_id(name) > 0 || (!words.empty() && std::ranges::find(kKeys, words.back()) != std::end(kKeys));
}

/// Masks by name: train_mask, and of several splits train_mask_0, ….
class MaskColumns {
 public:
  /// False if the name is of none.
  bool add(const std::string& name, int64_t column) {
    std::vector<std::string> words = words_in(name);
    int64_t number = kNone;
    if (words.size() == 3)
      if (const std::optional<int64_t> last = integer_in(words.back())) {
        number = *last;
        words.pop_back();
      }
    const bool named = words.size() == 2 && (words[0] == "mask" || words[1] == "mask");
    const int part = named ? part_named(words[words[0] == "mask" ? 1 : 0]) : -1;
    if (part < 0) return false;
    Parts& parts = splits_.try_emplace(number, Parts{-1, -1, -1}).first->second;
    parts[static_cast<size_t>(part)] = column;
    return true;
  }
  /// Sets the masks, if all splits are complete, or else what is missing.
  void move_to(NodeColumns& found, std::span<const std::string> names) const {
    constexpr const char* kMasks[] = {"train_mask", "val_mask", "test_mask"};
    const auto of_all = splits_.find(kNone);
    std::vector<Parts> splits;
    for (const auto& [number, own] : splits_) {
      const bool filler = number == kNone && splits_.size() > 1 && std::ranges::find(own, -1) != own.end();
      if (filler) continue;  // a part of all splits
      Parts parts = own;
      for (size_t part = 0; part < parts.size(); ++part) {
        if (parts[part] < 0 && of_all != splits_.end()) parts[part] = of_all->second[part];
        if (parts[part] < 0 && found.missing_mask.empty())
          found.missing_mask = kMasks[part] + (number == kNone ? std::string() : fmt::format("_{}", number));
      }
      splits.push_back(parts);
    }
    if (found.missing_mask.empty()) {
      found.masks = std::move(splits);
      return;
    }
    for (const auto& [number, parts] : splits_)
      for (const int64_t mask : parts)
        if (mask >= 0) found.lone_masks.push_back(column_name(mask, names));
  }

 private:
  using Parts = std::array<int64_t, 3>;
  static constexpr int64_t kNone = -1;
  std::map<int64_t, Parts> splits_;  // by number; kNone: without one
};

/// The part that a flag of this name selects: is_train, in_train, or train alone; -1: it is none.
int part_of_flag(const std::string& name) {
  const std::vector<std::string> words = words_in(name);
  if (words.size() == 2 && (words[0] == "is" || words[0] == "in")) return part_named(words[1]);
  return words.size() == 1 ? part_named(words[0]) : -1;
}

/// Whether it is called as the numbers of folds are.
bool is_fold(const std::string& name) {
  constexpr std::string_view kFolds[] = {"fold", "folds", "kfold"};
  const std::vector<std::string> words = words_in(name);
  return !words.empty() && std::ranges::find(kFolds, words.back()) != std::end(kFolds);
}

using Fields = std::vector<std::string>;

bool repeats(const Fields& fields) {
  std::set<std::string_view> seen;
  return !std::ranges::all_of(fields, [&](const auto& field) { return seen.insert(field).second; });
}

bool ascends(const Fields& fields) {
  std::optional<int64_t> last;
  for (const std::string& field : fields) {
    const std::optional<int64_t> number = integer_in(field);
    if (!number || (last && *number <= *last)) return false;
    last = number;
  }
  return last.has_value();
}

/// Whether the first column is called as the index that a data frame was written with.
bool has_index_name(std::span<const std::string> names) {
  if (names.empty()) return false;
  const std::vector<std::string> words = words_in(names[0]);
  using Words = std::vector<std::string>;
  return words.empty() || words == Words{"index"} || words == Words{"unnamed", "0"};
}

/// Whether it is one.
bool is_index(std::span<const std::string> names, const FirstFields& fields) {
  return has_index_name(names) && ascends(fields[0]);
}

/// Whether they are 0, 1, 2 … or 1, 2, 3 …, under a name that R, pandas and others write.
bool numbers_rows(const std::string& name, const Fields& fields) {
  constexpr std::string_view kNames[] = {"rownames", "row_names", "row.names", "...1", "level_0"};
  const std::string called = lower(name);
  if (name != "X" && !called.starts_with("unnamed: 0") &&
      std::ranges::find(kNames, called) == std::end(kNames))
    return false;
  const std::optional<int64_t> first = fields.size() > 2 ? integer_in(fields[0]) : std::nullopt;
  if (first != 0 && first != 1) return false;
  for (size_t k = 0; k < fields.size(); ++k)
    if (integer_in(fields[k]) != *first + static_cast<int64_t>(k)) return false;
  return true;
}

/// Whether fields without a name for ids may be some: another in each row, no gaps and fractions.
bool may_be_ids(const Fields& fields) {
  return !fields.empty() && !repeats(fields) && std::ranges::none_of(fields, [](const std::string& field) {
    return is_missing(field) || (float_in(field) && !integer_id(field));
  });
}

bool is_flag(const std::string& field) {
  const std::string word = lower(field);
  const std::optional<float> number = float_in(field);
  return word == "true" || word == "false" || number == 0.0f || number == 1.0f;
}

/// Whether a column says train, val or test, or by its name a number or a text for them.
bool is_split(const std::string& name, const Fields& fields) {
  const std::vector<std::string> words = words_in(name);
  if (!words.empty() && (words.back() == "split" || words.back() == "splits"))
    return std::ranges::none_of(
        fields, [](const auto& field) { return float_in(field) && !integer_in(field); });  // no times
  bool trains = false;
  for (const std::string& field : fields) {
    if (is_missing(field)) continue;
    const int part = part_named(field);
    if (part < 0) return false;
    trains = trains || part == 0;
  }
  return trains;
}

/// The column whose name says that it has the ids; the first one if none does. `choice`: how users say it.
template <class IsTaken>
int64_t find_id(std::span<const std::string> names, const FirstFields& fields, const IsTaken& is_taken,
                const std::function<bool(std::string_view)>& is_node, std::string_view choice,
                const std::string& place) {
  int best = 0, fit_first = 0;
  std::vector<int64_t> found;
  const size_t first = is_index(names, fields) ? 1 : 0;
  const auto is_stranger = [&](size_t k) {
    return is_node && std::ranges::none_of(fields[k], is_node) && std::ranges::any_of(fields[0], is_node);
  };
  for (size_t k = 0; k < names.size(); ++k) {
    const int fit = fit_of_id(names[k]);
    if (fit == 0) continue;
    if (fit <= kWeakFit && (is_taken(static_cast<int64_t>(k)) || repeats(fields[k]) || is_stranger(k)))
      continue;
    if (k == first) fit_first = fit;
    if (fit > best) found.clear();
    if (fit >= best) found.push_back(static_cast<int64_t>(k));
    best = std::max(best, fit);
  }
  if (found.empty()) return 0;
  if (found[0] == static_cast<int64_t>(first)) return found[0];
  if (best <= kWeakFit && fit_first > 0) found.insert(found.begin(), static_cast<int64_t>(first));
  if (found.size() > 1)
    data_fail("{}: columns \"{}\" and \"{}\" may both be ids, expected {}", place,
              excerpt(names[static_cast<size_t>(found[0])]), excerpt(names[static_cast<size_t>(found[1])]),
              choice);
  return found[0];
}

/// Finds the columns of train, val and test, and what else says a split.
template <class IsTaken>
void find_splits(std::span<const std::string> names, const FirstFields& fields, const IsTaken& is_taken,
                 NodeColumns& found) {
  std::array<int64_t, 3> flags{-1, -1, -1};
  for (size_t k = 0; k < names.size(); ++k) {
    const auto column = static_cast<int64_t>(k);
    if (is_taken(column)) continue;
    const int flag = part_of_flag(names[k]);
    if (flag >= 0 && !fields[k].empty() && std::ranges::all_of(fields[k], is_flag))
      flags[static_cast<size_t>(flag)] = column;
    else if (is_split(names[k], fields[k]))
      found.splits.push_back(column);
    else if (is_fold(names[k]))
      found.doubtful_splits.push_back(column);
  }
  const auto is_set = [&](int64_t column, size_t row) {
    const std::string& field = fields[static_cast<size_t>(column)][row];
    return lower(field) == "true" || float_in(field) == 1.0f;
  };
  const auto count = 3 - std::ranges::count(flags, -1);
  bool apart = true;  // no row is in two parts
  const size_t rows = fields.empty() ? 0 : fields[0].size();
  for (size_t row = 0; row < rows && apart; ++row)
    apart = std::ranges::count_if(flags, [&](int64_t k) { return k >= 0 && is_set(k, row); }) < 2;
  if (apart && count == 3 && !found.has_masks()) {
    found.masks = {flags};
    return;
  }
  for (const int64_t k : flags) {
    if (k < 0) continue;
    const bool certain = apart && (count > 1 || words_in(names[static_cast<size_t>(k)]).size() > 1);
    (certain ? found.splits : found.doubtful_splits).push_back(k);  // test alone may be anything
  }
}

}  // namespace

bool names_ids(const std::string& name) { return fit_of_id(name) > 0; }

bool names_label(const std::string& name) {
  const std::vector<std::string> words = words_in(name);
  using Words = std::vector<std::string>;
  return words == Words{"label"} || words == Words{"class"} || words == Words{"node", "label"} ||
         words == Words{"node", "class"};
}

bool tells_rows(int64_t column, std::span<const std::string> names, const FirstFields& fields) {
  if (names.empty()) return false;
  const auto k = static_cast<size_t>(column);
  if (column == 0 && (names[0].empty() || is_index(names, fields))) return true;
  const std::vector<std::string> words = words_in(names[k]);
  using Words = std::vector<std::string>;
  return (words == Words{"edge", "id"} || words == Words{"eid"} || words == Words{"id"}) &&
         !repeats(fields[k]);
}

std::string column_text(int64_t column, std::span<const std::string> names) {
  const auto k = static_cast<size_t>(column);
  const bool named = k < names.size() && !names[k].empty();
  return fmt::format("column {}{}", column + 1, named ? fmt::format(" ({})", excerpt(names[k])) : "");
}

int64_t chosen_column(const std::string& choice, std::span<const std::string> names, int64_t columns,
                      const std::string& place) {
  if (const auto first = std::find(names.begin(), names.end(), choice); first != names.end()) {
    if (std::find(first + 1, names.end(), choice) != names.end())
      data_fail("{}: {} columns called \"{}\", expected a number from 1 to {} to say which", place,
                std::count(first, names.end(), choice), excerpt(choice), columns);
    return first - names.begin();
  }
  const std::optional<int64_t> number = integer_in(choice);
  if (number && *number >= 1 && *number <= columns) return *number - 1;
  constexpr size_t kShown = 20;
  std::string known;
  for (size_t k = 0; k < std::min(names.size(), kShown); ++k)
    known += (known.empty() ? " or one of " : ", ") + excerpt(names[k]);
  if (names.size() > kShown) known += ", …";
  if (names.empty())
    known = ", as there is no header (--header or --node-headers yes: the first line is one)";
  for (const std::string& name : names)
    if (lower(name) == lower(choice)) known = fmt::format("; the header has \"{}\"", excerpt(name));
  data_fail("{}: no column \"{}\", expected a number from 1 to {}{}", place, excerpt(choice), columns, known);
}

void expect_one_label(const std::string& choice, std::span<const std::string> names,
                      const std::string& place) {
  if (choice.find(',') == std::string::npos || std::ranges::find(names, choice) != names.end()) return;
  data_fail(
      "{}: no column \"{}\", expected one column of labels (convert edges --labels FILE: all columns of a "
      "file of "
      "labels)",
      place, excerpt(choice));
}

std::string column_name(int64_t column, std::span<const std::string> names) {
  const auto k = static_cast<size_t>(column);
  return k < names.size() && !names[k].empty() ? names[k] : fmt::format("column {}", column + 1);
}

std::string choice_for(int64_t column, std::span<const std::string> names) {
  const auto k = static_cast<size_t>(column);
  const bool named = k < names.size() && !names[k].empty() && std::ranges::count(names, names[k]) == 1;
  return named ? names[k] : std::to_string(column + 1);
}

std::string passed_over(std::span<const int64_t> read, std::span<const std::string> names, int64_t columns) {
  std::vector<uint8_t> is_read(static_cast<size_t>(columns));
  for (const int64_t column : read)  // those of an empty file are not there
    if (column >= 0 && column < columns) is_read[static_cast<size_t>(column)] = 1;
  std::vector<std::string> others;
  for (int64_t k = 0; k < columns; ++k)
    if (is_read[static_cast<size_t>(k)] == 0) others.push_back(column_name(k, names));
  return others.empty() ? "" : "; passed over: " + detail::listed(others, 10);
}

std::vector<int64_t> columns_like(std::span<const std::string> known, std::span<const std::string> names,
                                  int64_t columns, const std::string& place) {
  constexpr size_t kShown = 10;
  std::map<std::string, int64_t> found;
  for (int64_t k = 0; k < columns; ++k) found.emplace(column_name(k, names), k);
  std::vector<int64_t> chosen;
  std::vector<std::string> missing, others;
  for (const std::string& name : known) {
    const auto column = found.find(name);
    if (column == found.end())
      missing.push_back(name);
    else
      chosen.push_back(column->second);
  }
  if (missing.empty()) return chosen;
  for (int64_t k = 0; k < columns; ++k)
    if (std::find(known.begin(), known.end(), column_name(k, names)) == known.end())
      others.push_back(column_name(k, names));
  std::string similar;
  for (const std::string& name : missing)
    for (const std::string& other : others)
      if (lower(name) == lower(other) && similar.empty())
        similar =
            fmt::format(" (\"{}\" is not \"{}\": letters differ in case)", excerpt(other), excerpt(name));
  data_fail("{}: no column {}, expected all of {}{}{}", place, detail::listed(missing, kShown), known.size(),
            others.empty() ? "" : "; other columns: " + detail::listed(others, kShown), similar);
}

std::string NodeColumns::id_note(std::span<const std::string> names) const {
  return guessed_id ? "; ids from " + column_text(id, names) : "";
}

std::string NodeColumns::split_note(std::span<const std::string> names, std::string_view item,
                                    std::string_view split_items) const {
  std::vector<std::string> texts;
  const auto add = [&](int64_t column) {
    const std::string text = excerpt(column_name(column, names));
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  };
  if (!split_items.empty())
    for (const auto& parts : masks) std::ranges::for_each(parts, add);  // one may be of several splits
  std::ranges::for_each(splits, add);
  if (texts.empty()) return "";
  if (!split_items.empty())
    return fmt::format("; passed over, as they are splits of {}s and the task is of {}: {}", item,
                       split_items, detail::listed(texts, 10));
  return fmt::format(
      "; passed over as a split, no feature: {} (convert tables --split-column and split --by-column take a "
      "column of train, val and test{})",
      detail::listed(texts, 3), item == "graph" ? "" : "; --types makes it a feature");
}

std::string NodeColumns::doubtful_note(std::span<const std::string> names) const {
  std::vector<std::string> texts;
  for (const int64_t column : doubtful_splits)
    texts.push_back(fmt::format("\"{}\"", excerpt(column_name(column, names))));
  std::string note;
  if (!texts.empty())
    note = fmt::format(
        "; {} look{} like a split and {} (--without leaves {} out; convert tables "
        "--split-column takes a column of train, val and test)",
        detail::listed(texts, 3), texts.size() == 1 ? "s" : "",
        texts.size() == 1 ? "is a feature" : "are features", texts.size() == 1 ? "it" : "them");
  for (const int64_t column : row_numbers)
    note += fmt::format("; \"{}\" numbers the rows and is a feature (--without leaves it out)",
                        excerpt(column_name(column, names)));
  return note;
}

std::string NodeColumns::row_id_note(std::span<const std::string> names) const {
  std::vector<std::string> texts;
  for (const int64_t column : row_ids) texts.push_back(excerpt(column_name(column, names)));
  return texts.empty() ? "" : "; passed over, as rows go by their order: " + detail::listed(texts, 3);
}

FirstFields first_fields(const std::string& path, const TextInput& input, const TableHead& head) {
  constexpr int64_t kRows = 1000, kFields = 200'000;
  FirstFields all(static_cast<size_t>(head.columns()));
  if (!head.has_header()) return all;  // without names nothing is guessed
  TextSource source(path, input);
  RecordReader reader(source, head.format);
  int64_t rows = std::clamp<int64_t>(kFields / std::max<int64_t>(head.columns(), 1), 1, kRows);
  while (rows > 0 && reader.next()) {
    std::vector<std::string> row;
    for (RecordFields field(source, reader.number(), reader.record(), head.format.separator); field.next();)
      row.emplace_back(field.field());
    if (row.size() != all.size()) break;  // refused when all are read
    for (size_t k = 0; k < row.size(); ++k) all[k].push_back(std::move(row[k]));
    --rows;
  }
  return all;
}

NodeColumns node_columns(std::span<const std::string> names, const FirstFields& fields, int64_t columns,
                         const NodeColumnNames& chosen, bool by_row, const std::string& place,
                         const std::function<bool(std::string_view)>& is_node) {
  const auto column = [&](const std::string& choice) { return chosen_column(choice, names, columns, place); };
  NodeColumns found;
  expect_one_label(chosen.label, names, place);
  // The user says what these are.
  std::vector<int64_t> taken;
  for (const auto* choices : {&chosen.without, &chosen.features})
    for (const std::string& choice : *choices) taken.push_back(column(choice));
  if (!chosen.label.empty() && chosen.label != "none") taken.push_back(column(chosen.label));
  for (size_t k = 0; k < names.size(); ++k)
    for (const std::string& choice : chosen.typed)
      if (choice == names[k] || choice == std::to_string(k + 1)) taken.push_back(static_cast<int64_t>(k));
  const auto is_taken = [&](int64_t k) { return std::ranges::find(taken, k) != taken.end(); };
  const std::string_view remedy = chosen.labels_alone ? "one called id" : "--id to say which";
  found.id = by_row               ? -1
             : !chosen.id.empty() ? column(chosen.id)
                                  : find_id(names, fields, is_taken, is_node, remedy, place);
  const bool index = is_index(names, fields);
  const bool says_id = !names.empty() && found.id >= 0 && fit_of_id(names[static_cast<size_t>(found.id)]) > 0;
  found.guessed_id =
      chosen.id.empty() && columns > 1 && (found.id > 0 || (found.id == 0 && (index || !says_id)));
  if (!chosen.label.empty() && chosen.label != "none") found.label = column(chosen.label);
  if (found.label >= 0 && found.label == found.id)
    data_fail("{}: one column for two purposes, expected id and label in different ones", place);
  std::vector<int64_t> others;
  for (const std::string& choice : chosen.without) others.push_back(column(choice));
  const auto is_other = [&](int64_t k) { return std::find(others.begin(), others.end(), k) != others.end(); };
  for (size_t k = 0; k < names.size() && chosen.label.empty(); ++k)
    if (static_cast<int64_t>(k) != found.id && names_label(names[k]) && !is_other(static_cast<int64_t>(k))) {
      if (found.label >= 0)
        data_fail("{}: columns \"{}\" and \"{}\" may both be labels, expected --label to say which (or none)",
                  place, excerpt(names[static_cast<size_t>(found.label)]), excerpt(names[k]));
      found.label = static_cast<int64_t>(k);
    }
  const auto is_end = [&](int64_t k) {
    return std::ranges::any_of(chosen.ends, [&](const std::string& end) {
      return names_nodes_of(end, names[static_cast<size_t>(k)]);
    });
  };
  // Beside an index and the label of a file of labels one column remains for the ids, of two columns one is
  // the label.
  if (chosen.labels_alone && chosen.id.empty() && index && found.id == 0 && columns == 3 && found.label > 0)
    if (const int64_t rest = 3 - found.label; !repeats(fields[static_cast<size_t>(rest)])) found.id = rest;
  const bool is_pair = chosen.labels_alone && columns == 2;
  if (chosen.id.empty() && !is_pair && found.id >= 0 && !names.empty()) {
    const bool unnamed = found.id == 0 && has_index_name(names),
               certain = fit_of_id(names[static_cast<size_t>(found.id)]) > 4;
    found.possible_ids = {found.id};
    for (int64_t k = 0; k < columns; ++k)
      if (const auto c = static_cast<size_t>(k);
          k != found.id && k != found.label && !is_taken(k) && may_be_ids(fields[c]) &&
          (unnamed || is_end(k) || (!certain && is_key(names[c]) && !(k == 0 && index))))
        found.possible_ids.push_back(k);
    if (found.possible_ids.size() == 1) found.possible_ids.clear();
    found.guessed_id = found.guessed_id || !found.possible_ids.empty();
  }
  if (!chosen.features.empty()) {
    for (const std::string& choice : chosen.features) {
      const int64_t feature = column(choice);
      const bool again =
          std::find(found.features.begin(), found.features.end(), feature) != found.features.end();
      if (again || feature == found.id || feature == found.label)
        data_fail("{}: {} is chosen as a feature and is {}, expected columns of one purpose", place,
                  column_text(feature, names),
                  again                 ? "one already"
                  : feature == found.id ? "the id"
                                        : "the label");
      found.features.push_back(feature);
    }
    return found;
  }
  others.insert(others.end(), {found.id, found.label});
  MaskColumns masks;
  for (size_t k = 0; k < names.size(); ++k)
    if (const auto mask = static_cast<int64_t>(k); !is_other(mask) && masks.add(names[k], mask))
      others.push_back(mask);
  masks.move_to(found, names);
  // Ids beside rows that are nodes by their order.
  for (size_t k = 0; by_row && k < names.size(); ++k) {
    const auto row_id = static_cast<int64_t>(k);
    if (fit_of_id(names[k]) <= kWeakFit || is_other(row_id) || is_taken(row_id)) continue;
    if (!chosen.labels_alone)
      data_fail(
          "{}: {} is called as ids are, but rows are nodes by their order (--features-by-row), expected no "
          "ids (without "
          "the option rows go by them; --without \"{}\" leaves the column out)",
          place, column_text(row_id, names), excerpt(names[k]));
    found.row_ids.push_back(row_id);
    others.push_back(row_id);
  }
  find_splits(
      names, fields, [&](int64_t k) { return is_other(k) || is_taken(k); }, found);
  others.insert(others.end(), found.splits.begin(), found.splits.end());
  for (const auto& parts : found.masks) others.insert(others.end(), parts.begin(), parts.end());
  // A data frame's index is no feature beside ids, or of rows that are counted.
  if (found.id != 0 && !names.empty() && !is_taken(0) && (index || (!by_row && names[0].empty())))
    others.push_back(0);
  for (int64_t k = 0; k < columns; ++k) {
    if (is_other(k)) continue;
    found.features.push_back(k);
    if (!names.empty() && !is_taken(k) &&
        numbers_rows(names[static_cast<size_t>(k)], fields[static_cast<size_t>(k)]))
      found.row_numbers.push_back(k);
  }
  return found;
}

}  // namespace adj
