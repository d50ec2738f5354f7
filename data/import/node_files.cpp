#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/matching_id.h>
#include <adjoint/data/import/detail/node_rows.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_files.h>
#include <adjoint/data/import/split_table.h>

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/ranges.h>

namespace adj {

namespace {

Tensor read_part(NodeRows& rows, const Tensor& y, std::vector<uint8_t>& seen,
                 std::vector<std::string>& notes) {
  std::vector<int32_t> part;
  RecordReader reader(rows.source(), rows.head().format);
  while (reader.next()) {
    const int64_t line = reader.number();
    const std::string id = id_in_split(rows, line, reader.record());
    const int32_t node = rows.node_of(id, line);
    if (seen[static_cast<size_t>(node)]++ != 0)
      rows.source().fail(line, "\"{}\" occurs twice, expected once in a split", excerpt(id));
    if (y && !detail::is_labelled(y, node))
      rows.source().fail(line, "\"{}\", a node without a label", excerpt(id));
    part.push_back(node);
  }
  if (part.empty()) rows.source().fail(0, "no ids, expected some");
  notes.push_back(rows.note(reader.skipped()));
  return Tensor::from(part);
}

/// The parts that columns of true and false, or 1 and 0, select, three for each split. Nodes without a label
/// are in none, with a note.
std::vector<Split> read_masks(NodeRows& rows, const NodeIds& ids, const Tensor& y, std::string_view item,
                              std::vector<std::string>& notes) {
  constexpr size_t kParts = 3;
  std::vector<int64_t> masks, all;  // of each part; each once
  for (const auto& split : rows.columns().masks) masks.insert(masks.end(), split.begin(), split.end());
  for (const int64_t mask : masks)
    if (std::ranges::find(all, mask) == all.end()) all.push_back(mask);
  rows.read_columns(all);
  std::vector<std::vector<int32_t>> parts(masks.size());
  TextSource& source = rows.source();
  std::vector<std::string> unlabelled;
  const auto is_set = [&](std::string_view field, int64_t line, size_t slot) {
    const std::optional<float> flag = boolean_in(field);
    const float value = flag ? *flag : rows.head().number_in(field).value_or(-1.0f);
    if (value != 0.0f && value != 1.0f)
      source.fail(line, "\"{}\" in {}, expected true or false", excerpt(field),
                  column_text(all[slot], rows.names()));
    return value;
  };
  (void)rows.read_rows(
      source,
      [&](const TextBlock& block) {
        RowBlock part;
        rows.read_block(block, std::ssize(all), part,
                        [&](size_t slot, std::string_view field, int64_t line, float* row) {
                          row[slot] = is_set(field, line, slot);
                        });
        return part;
      },
      [&](const RowBlock& part, size_t k, int32_t node) {
        const bool labelled = !y || detail::is_labelled(y, node);
        size_t count = 0, most = 0;
        for (size_t p = 0; p < masks.size(); ++p) {
          if (p % kParts == 0) count = 0;
          if (part.values[all.size() * k + static_cast<size_t>(rows.slot(masks[p]))] != 1.0f) continue;
          if (labelled) parts[p].push_back(node);
          most = std::max(most, ++count);
        }
        if (most > 1) source.fail(part.lines[k], "a {} in {} parts of the split, expected one", item, most);
        if (most > 0 && !labelled) unlabelled.push_back(ids.text(node));
      },
      [](const RowBlock&) {});
  std::vector<Split> splits;
  for (size_t p = 0; p < masks.size(); ++p) {
    if (parts[p].empty())
      source.fail(0, "no {} {}in {}, expected some (--without leaves it out)", item,
                  unlabelled.empty() ? "" : "with a label ", column_text(masks[p], rows.names()));
    std::sort(parts[p].begin(), parts[p].end());
    if (p % kParts == kParts - 1)
      splits.push_back({Tensor::from(parts[p - 2]), Tensor::from(parts[p - 1]), Tensor::from(parts[p])});
  }
  if (!unlabelled.empty())
    notes.push_back(fmt::format("{}: {}s without a label, in no part: {}: {}", excerpt(source.path()), item,
                                unlabelled.size(), detail::listed(unlabelled, 3)));
  return splits;
}

/// Whether labels are often called so.
bool is_label_word(std::string_view word) {
  constexpr std::string_view kWords[] = {"y", "target", "targets", "label", "labels", "class", "outcome"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

/// Of a name, without the numbers behind of label_0, label_1.
std::vector<std::string> label_words(const std::string& name) {
  std::vector<std::string> words = words_in(name);
  while (words.size() > 1 && integer_in(words.back())) words.pop_back();
  return words;
}

/// Notes about features that have the name of a label, from a file of its own, or say the same as the label:
/// a model would see the answer.
void note_labels_within(const NodeFiles& files, const FeatureTable& table,
                        const std::vector<std::string>& labels, const Dataset& data,
                        std::vector<std::string>& notes) {
  if (files.task == Task::node_class && !files.like)
    if (const std::vector<std::string> copies = label_copies(table, data.y, data.classes); !copies.empty())
      notes.push_back(
          fmt::format("{}: features that say the same as the label, so that models see the answer: {}{}",
                      excerpt(files.features), detail::listed(copies, 5),
                      files.columns.features.empty() ? " (--without leaves them out)" : ""));
  if (files.labels.empty()) return;
  for (const ColumnEncoder& encoder : table.encoder.columns) {
    const std::string& name = encoder.column;
    const std::vector<std::string> words = label_words(name);
    const bool is_label = !words.empty() && is_label_word(words.back()) &&
                          (words.size() == 1 || (words.size() == 2 && words[0] == "node"));
    if (is_label || std::find(labels.begin(), labels.end(), name) != labels.end())
      notes.push_back(fmt::format("{}: column \"{}\" is a feature; if it is the label, models see the answer",
                                  excerpt(files.features), excerpt(name)));
  }
}

/// Names features that are called as labels often are, where there are no labels; `none`: none is wanted.
std::string possible_labels(const NodeRows& rows, const std::vector<int64_t>& features, bool none) {
  for (const int64_t column : features) {
    const std::string name = column_name(column, rows.names());
    const std::vector<std::string> words = label_words(name);
    if (!words.empty() && (words.back() != "class" || words.size() == 1) && is_label_word(words.back()))
      return fmt::format("; \"{}\" is a feature{}", excerpt(name),
                         none ? ", though called as labels are (--without leaves it out)"
                              : fmt::format(" (--label \"{}\": it is the label)", excerpt(name)));
  }
  return "";
}

/// What is said of columns of splits.
std::string split_note(const NodeRows& rows, const NodeFiles& files) {
  return rows.columns().split_note(rows.names(), files.item, files.split_items);
}

/// Reads the labels, a file of their own or a column of the features' table.
template <class Open>
void read_labels(const std::string& path, const Open& open, const NodeIds& ids, const NodeFiles& files,
                 const FeatureTable& table, Dataset& data, std::vector<std::string>& notes) {
  const bool in_table = path == files.features,
             by_row = in_table ? files.features_by_row : files.labels_by_row;
  const bool classes = files.task == Task::node_class;
  data.task = files.task;
  NodeRows rows = open(path, by_row, classes && by_row && !in_table, in_table);
  const NodeColumns& columns = rows.columns();
  if (files.columns.label == "none" || (in_table && columns.label < 0))
    rows.source().fail(0, "no column of labels{}, expected one (--label COLUMN), or no file of labels",
                       files.columns.label.empty() ? "" : " by --label none");
  if (columns.label >= 0 && (in_table || classes || !files.columns.label.empty()))
    rows.read_columns({columns.label});
  else {
    std::vector<int64_t> others = columns.features;
    if (by_row && others.empty()) others = {0};  // the first line is empty
    if (columns.label >= 0)
      others.insert(std::upper_bound(others.begin(), others.end(), columns.label), columns.label);
    rows.read_columns(others);
  }
  std::vector<std::string> names;
  for (const int64_t column : rows.slots())
    if (rows.has_header()) names.push_back(rows.names()[static_cast<size_t>(column)]);
  if (classes) {
    if (rows.slots().size() > 1)
      rows.source().fail(
          rows.head().format.first_line,
          "more than one label, expected one (--label COLUMN, or --task node_multilabel for all)");
    notes.push_back(read_classes(rows, files, data));
    // As Gephi writes names. A user who names the column means it; 0, 1, 2 are classes of a small example.
    const int64_t labelled = data.num_nodes() - data.unlabelled;
    const int64_t few = data.class_names.empty() ? 9 : 2;
    if (in_table && files.columns.label.empty() && labelled > few && 10 * data.classes > 9 * labelled)
      rows.source().fail(
          0,
          "{} has another text in {} row, expected labels of classes (--label none: they are no "
          "labels; --label \"{}\": they are)",
          column_text(columns.label, rows.names()), data.classes == labelled ? "every" : "nearly every",
          excerpt(column_name(columns.label, rows.names())));
  } else if (files.task == Task::node_multilabel && rows.slots().size() == 1) {
    notes.push_back(read_label_sets(rows, files, data));
    if (data.class_names.empty() && data.y.size(1) == 1 && !names.empty()) data.class_names = names;
  } else {
    auto [y, note] = read_targets(rows, ids.size(), files.task == Task::node_multilabel);
    data.y = y;
    data.unlabelled = detail::count_unlabelled(y);
    for (const std::string& name : names) rows.source().expect_utf8(rows.head().format.first_line, name);
    data.class_names = names;
    notes.push_back(note);
    if (const std::string problem = detail::problem_of_names(data.class_names); !problem.empty()) {
      notes.back() += "; names not kept: " + problem;
      data.class_names.clear();
    }
  }
  if (!in_table) {
    std::vector<int64_t> read = rows.slots();
    read.push_back(columns.id);
    read.insert(read.end(), columns.splits.begin(), columns.splits.end());
    read.insert(read.end(), columns.row_ids.begin(), columns.row_ids.end());
    notes.back() += adj::passed_over(read, rows.names(), rows.head().columns());
  }
  if (!in_table || columns.features.empty())  // with features their note says it
    notes.back() += split_note(rows, files) + columns.row_id_note(rows.names());
  if (in_table) notes.back() += fmt::format("; labels from {}", column_text(columns.label, rows.names()));
  note_labels_within(files, table, in_table ? std::vector<std::string>() : names, data, notes);
}

}  // namespace

ColumnChoice column_choice(const std::string& text, const std::string& place) {
  constexpr int64_t kHashColumns = 64, kTextColumns = 256, kMostColumns = 1 << 20;
  const size_t equals = text.rfind('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
  const std::string name =
      equals == std::string::npos
          ? ""
          : text.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
  const std::optional<ColumnType> type = value_named<ColumnType>(name);
  if (!type)
    data_fail("{} {}: expected COLUMN=TYPE, separated by commas, with a type of {}", place, excerpt(text),
              fmt::join(names_of(ColumnType{}), ", "));
  const bool set = type == ColumnType::set, hashed = type == ColumnType::hash || type == ColumnType::text;
  ColumnChoice choice{text.substr(0, equals), *type};
  if (hashed) choice.columns = type == ColumnType::hash ? kHashColumns : kTextColumns;
  if (colon == std::string::npos) return choice;
  const std::optional<int64_t> columns = integer_in(text.substr(colon + 1));
  if (!(hashed || set) || !columns || *columns < (set ? 2 : 1) || *columns > kMostColumns)
    data_fail("{} {}: expected a number of columns from 1 to {}, of hash, text or set, as in zip=hash:64",
              place, excerpt(text), kMostColumns);
  choice.columns = *columns;
  return choice;
}

std::vector<std::string> typed_columns(const std::vector<ColumnChoice>& types,
                                       const std::optional<LikeFile>& like) {
  std::vector<std::string> names;
  for (const ColumnChoice& choice : types) names.push_back(choice.column);
  if (like)
    for (const ColumnEncoder& encoder : like->encoder.columns) names.push_back(encoder.column);
  return names;
}

void choose_matching_id(NodeFiles& files, const TextFormat& text, const NodeIds& ids,
                        std::vector<std::string>& notes) {
  const auto choose = [&](const std::string& path, std::string& choice, std::string_view remedy) {
    const NodeRows head(path, false, false, files, text, ids, nullptr);
    if (head.columns().possible_ids.empty()) return;
    TableRows rows(path, text, head.head().header(), {});
    const int64_t column = detail::matching_id(
        rows, head.columns().possible_ids, [&](std::string_view id) { return ids.find(id); }, ids.size(),
        "edges", files.columns.ends, remedy);
    if (column == head.id_column()) return;
    choice = choice_for(column, rows.names());
    notes.push_back(fmt::format("{}: ids from {}, which has those of edges", excerpt(path),
                                column_text(column, rows.names())));
  };
  if (!files.features.empty() && !files.features_by_row)
    choose(files.features, files.columns.id, "--id to say which has them");
  if (!files.labels.empty() && files.labels != files.features && !files.labels_by_row)
    choose(files.labels, files.labels_id, "one called node_id");
}

void add_listed_nodes(const NodeFiles& files, const TextFormat& text, NodeIds& ids,
                      std::vector<std::string>& notes) {
  constexpr size_t kShown = 3;
  if (files.features.empty() || files.features_by_row) return;
  NodeRows rows(files.features, false, false, files, text, ids, nullptr);
  const RecordFormat& format = rows.head().format;
  TextSource source(files.features, text.input);
  source.cut_by([&](std::string_view text, int64_t line) { return format.last_end(text, line); });
  struct Unknown {
    int64_t rows = 0;
    std::vector<std::pair<std::string, int64_t>> ids;  // and their lines
  };
  const auto parse = [&](const TextBlock& block) {
    Unknown found;
    for (RecordCursor cursor(block, format); cursor.next();) {
      ++found.rows;
      with_fields(source, cursor.number(), cursor.record(), format.separator, cursor.quotes(),
                  [&](auto field) {
                    for (int64_t column = 0; field.next(); ++column) {
                      if (column != rows.id_column()) continue;
                      if (ids.find(field.field()) < 0) found.ids.emplace_back(field.field(), cursor.number());
                      break;
                    }
                    return 0;
                  });
    }
    return found;
  };
  int64_t listed = 0;
  std::vector<std::pair<std::string, int64_t>> unknown;
  source.for_blocks(parse, [&](Unknown found) {
    listed += found.rows;
    std::move(found.ids.begin(), found.ids.end(), std::back_inserter(unknown));
  });
  if (unknown.empty()) return;
  const TableHead& head = rows.head();
  if (std::ssize(unknown) == listed && head.has_header() && std::ssize(head.second) != head.columns())
    source.fail(unknown[0].second, "{}", head.wrong_count(std::ssize(head.second)));
  if (std::ssize(unknown) == listed)
    source.fail(
        unknown[0].second,
        "\"{}\" in {} is in no edge, nor is any other node of the file, expected the ids of the edges "
        "(--id COLUMN says which column has them)",
        excerpt(unknown[0].first), column_text(rows.id_column(), rows.names()));
  if (unknown[0].second == format.first_line && !rows.has_header() && files.headers == Header::find_out &&
      (rows.head().may_be_header() || rows.head().is_word_beside_numbers(rows.id_column())))
    source.fail(
        format.first_line,
        "\"{}\" is in no edge, so that the line is a header or a node, expected --node-headers yes or no "
        "to say which",
        excerpt(unknown[0].first));
  const int64_t before = ids.size();
  std::string names;
  for (size_t k = 0; k < unknown.size(); ++k) {
    const auto& [id, line] = unknown[k];
    if (id.empty() || is_missing(id)) source.fail(line, "\"{}\", expected the id of a node", excerpt(id));
    source.expect_utf8(line, id);
    if (!ids.add_text(id))
      source.fail(line, "\"{}\", expected the id of a node, {}", excerpt(id),
                  ids.kind() == NodeIds::Kind::names ? "fewer in all" : "an integer as in the edges");
    if (k < kShown) names += (k == 0 ? "" : ", ") + excerpt(id);
  }
  const int64_t added = ids.size() - before;
  notes.push_back(fmt::format("{}: {} node{} without an edge: {}{}", excerpt(files.features), added,
                              added == 1 ? "" : "s", names, unknown.size() > kShown ? ", …" : ""));
}

void read_node_files(const NodeFiles& files, const TextFormat& text, const NodeIds& ids, Dataset& data,
                     Progress* reading, std::vector<std::string>& notes) {
  const auto open = [&](const std::string& path, bool by_row, bool blank_rows, bool again = false) {
    return NodeRows(path, by_row, blank_rows, files, text, ids, again ? nullptr : reading);
  };
  FeatureTable table;
  size_t table_note = 0;
  bool masks = false;
  const bool chosen = !files.split_column.empty() || files.split || !files.train.empty();
  std::string labels = files.labels;
  if (!files.features.empty()) {
    NodeRows rows = open(files.features, files.features_by_row, false);
    const NodeColumns& columns = rows.columns();
    if (columns.label >= 0 && labels.empty()) labels = files.features;
    const std::vector<int64_t>& features = columns.features;
    masks = columns.has_masks() && !chosen && files.split_items.empty();
    if (!columns.lone_masks.empty() && !chosen)
      notes.push_back(fmt::format("{}: no split by {}, as there is no {}", excerpt(files.features),
                                  detail::listed(columns.lone_masks, 3), columns.missing_mask));
    rows.read_columns(features);
    if (features.empty() && labels != files.features) {
      if (files.columns.without.empty() && columns.splits.empty() &&
          (files.split_items.empty() || !columns.has_masks()))
        rows.source().fail(0, "no features beside the id, expected some (--without COLUMN: none are wanted)");
      notes.push_back(fmt::format("{}: only the nodes, without features{}", excerpt(files.features),
                                  split_note(rows, files)));
    }
    if (!features.empty()) {
      table = read_features(rows, ids.size(), files);
      std::vector<int64_t> read = features;
      read.insert(read.end(), {columns.id, columns.label});
      read.insert(read.end(), columns.splits.begin(), columns.splits.end());
      read.insert(read.end(), files.read_elsewhere.begin(), files.read_elsewhere.end());
      for (const auto& parts : columns.masks)
        if (masks || !files.split_items.empty()) read.insert(read.end(), parts.begin(), parts.end());
      table.note += passed_over(read, rows.names(), rows.head().columns()) + split_note(rows, files) +
                    columns.doubtful_note(rows.names());
      if (labels.empty() && rows.has_header() &&
          (files.columns.label.empty() || files.columns.label == "none"))
        table.note += possible_labels(rows, features, files.columns.label == "none");
      if (rows.has_header()) data.feature_names = table.encoder.feature_names();
      table_note = notes.size();
      notes.push_back(table.note);
    }
  }
  if (!labels.empty())
    read_labels(labels, open, ids, files, table, data, notes);
  else if (files.task != Task::node_class || files.missing_labels || (files.split && files.split->stratified))
    data_fail("{}: no column of labels, expected one called label or class (--label COLUMN says which)",
              excerpt(files.features));
  if (masks) {
    NodeRows rows = open(files.features, files.features_by_row, false, true);
    data.splits = read_masks(rows, ids, data.y, files.item, notes);
    const size_t count = data.splits.size();
    notes.push_back(
        fmt::format("{}: {} by its columns of masks: {} {}s to train, {} to validate, {} to test{}",
                    excerpt(files.features), count == 1 ? "split" : fmt::format("{} splits", count),
                    data.splits[0].train.numel(), files.item, data.splits[0].val.numel(),
                    data.splits[0].test.numel(), count == 1 ? "" : " in the first"));
  } else if (!files.split_column.empty()) {
    Dataset named = data;
    NodeIds(ids).move_to(named);
    NodeRows rows = open(files.features, files.features_by_row, false, true);
    const SplitTable column{files.features,
                            files.split_column,
                            files.features_by_row ? "" : choice_for(rows.id_column(), rows.names()),
                            files.features_by_row,
                            files.headers,
                            text,
                            false,
                            files.item == "node" ? "" : std::string(files.item)};
    data.splits = {split_by_column(named, files.features, column, notes)};
  } else if (files.split) {
    data.splits = files.split->draw(data, labels.empty() ? "split" : labels);
    notes.push_back(files.split->note(data.splits, fmt::format("{}s", files.item)));
  } else if (files.draw) {
    data.splits = files.draw(data.y);
  } else if (!files.train.empty()) {
    std::vector<uint8_t> seen(static_cast<size_t>(data.num_nodes()));
    const auto part = [&](const std::string& path) {
      NodeRows rows = open(path, false, false);
      return read_part(rows, data.y, seen, notes);
    };
    Split split;
    split.train = part(files.train);
    split.val = part(files.val);
    split.test = part(files.test);
    data.splits.push_back(std::move(split));
  }
  if (table.x) {
    const Tensor train = data.splits.empty() ? Tensor() : data.splits[0].train;
    if (files.impute)
      notes[table_note] +=
          "; " + impute(table, *files.impute, train, TextSource(files.features, text.input), files.item);
    if (!files.like) notes[table_note] += constant_columns(table);
    data.x = Features(table.x);
    if (const std::string problem = detail::problem_of_names(data.feature_names, "column");
        !problem.empty()) {
      notes[table_note] += "; names not kept: " + problem;
      data.feature_names.clear();
    } else {
      data.encoder = std::move(table.encoder);
    }
  }
  data.use_first_split();
}

}  // namespace adj
