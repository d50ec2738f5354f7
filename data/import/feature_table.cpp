#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/column_contents.h>
#include <adjoint/data/import/detail/column_numbers.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/node_rows.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Rows of one block as numbers, and what else is in their columns.
struct ScannedRows : RowBlock {
  std::vector<ColumnContents> contents;
};

bool is_hashed(const ColumnEncoder& encoder) {
  return encoder.type == ColumnType::hash || encoder.type == ColumnType::text ||
         (encoder.type == ColumnType::set && encoder.categories.empty());
}

/// What may stand between the items of a set; the first ones are in few items.
constexpr Separator kItemEnds[] = {Separator("|"),   Separator::semicolon, Separator::tab,
                                   Separator::comma, Separator("/"),       Separator::blanks};
constexpr size_t kCertainEnds = 3;

/// What is said of the fields of a column by an encoder that is known: those without features, and those
/// whose features may say something else than there.
struct FieldGaps {
  static constexpr size_t kShown = 3;

  static bool separates(Separator separator, std::string_view field) {
    int64_t items = 0;
    for_items(field, separator, [&](std::string_view) { ++items; });
    return items > 1;
  }

  int64_t missing = 0, missing_line = 0, unknown = 0;
  NumberFields numbers;
  DateRange dates;
  int64_t combining = 0;                                  // hashed fields with combining marks
  int64_t sets = 0;                                       // fields of a set
  std::array<int64_t, std::size(kItemEnds)> separated{};  // of these, with each of them
  std::set<std::string, std::less<>> texts;               // unknown ones, kShown at most

  /// `features`: as encoded.
  void add(FieldState state, const FieldEncoder& encoder, std::string_view field, int64_t line,
           const float* features) {
    const ColumnType type = encoder.encoder().type;
    const bool hashed = is_hashed(encoder.encoder());
    if (state == FieldState::encoded && type == ColumnType::number) numbers.add(field, *features);
    if (state == FieldState::encoded && type == ColumnType::vector)
      add_rounding(field, {features, static_cast<size_t>(encoder.encoder().width())}, encoder.decimal(),
                   numbers.rounding);
    if (state == FieldState::encoded && type == ColumnType::date) dates.add(field, line);
    combining += hashed && has_combining_mark(field);
    if (state == FieldState::missing) {
      if (missing++ == 0) missing_line = line;
      return;
    }
    if (type == ColumnType::set) {
      ++sets;
      const bool known = state == FieldState::encoded && !hashed;  // whatever is in its items
      for (size_t k = 0; k < separated.size(); ++k)
        separated[k] +=
            (!known || kItemEnds[k] == set_separator(encoder.encoder())) && separates(kItemEnds[k], field);
    }
    if (state != FieldState::unknown) return;
    ++unknown;
    add_text(encoder.unknown_in(field));
  }
  void add_text(std::string_view field) {
    if (texts.size() < kShown) texts.emplace(field);
  }
  void merge(const FieldGaps& later) {
    if (missing == 0) missing_line = later.missing_line;
    missing += later.missing;
    unknown += later.unknown;
    numbers.merge(later.numbers);
    dates.merge(later.dates);
    combining += later.combining;
    sets += later.sets;
    for (size_t k = 0; k < separated.size(); ++k) separated[k] += later.separated[k];
    for (const std::string& text : later.texts) add_text(text);
  }
};

/// Rows of one block, encoded.
struct EncodedRows : RowBlock {
  std::vector<FieldGaps> gaps;
};

std::string_view description(ColumnType type) {
  constexpr std::string_view kTexts[] = {"a finite number within float32",
                                         "true, false, 1 or 0",
                                         "a text",
                                         "a text",
                                         "a text",
                                         "a text",
                                         "a date as 2024-12-31",
                                         "numbers",
                                         "items"};
  return kTexts[static_cast<size_t>(type)];
}

/// For a summary.
std::string type_note(const ColumnEncoder& encoder) {
  switch (encoder.type) {
    case ColumnType::number:
    case ColumnType::boolean:
      return "boolean";
    case ColumnType::category:
      return fmt::format("category of {}", encoder.categories.size());
    case ColumnType::ordinal:
      return fmt::format("0 to {}, from {} to {}", encoder.categories.size() - 1,
                         excerpt(encoder.categories.front()), excerpt(encoder.categories.back()));
    case ColumnType::hash:
      return fmt::format("hashed into {} columns", encoder.columns);
    case ColumnType::text:
      return fmt::format("words and pairs of words, hashed into {} columns", encoder.columns);
    case ColumnType::date:
      return "date, in days since " + date_text(encoder.origin);
    case ColumnType::vector:
      return fmt::format("{} numbers in a field", encoder.columns);
    case ColumnType::set:
      break;
  }
  return fmt::format("set, items separated by {}, {}", name_of(set_separator(encoder)),
                     encoder.categories.empty()
                         ? fmt::format("hashed into {} columns", encoder.columns)
                         : fmt::format("{} different ones", encoder.categories.size()));
}

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class TableReader {
 public:
  TableReader(NodeRows& rows, int64_t nodes, const NodeFiles& files)
      : rows_(rows),
        source_(rows.source()),
        nodes_(nodes),
        files_(files),
        columns_(rows.slots()),
        contents_(columns_.size(), ColumnContents({}, rows.head().decimal)),
        encoders_(columns_.size()) {
    if (files.like) {
      encoders_ = files.like->encoder.columns;
      return;
    }
    const std::string place = rows.head().place(source_.path());
    for (size_t c = 0; c < columns_.size(); ++c) encoders_[c].column = name(c);
    for (const ColumnChoice& choice : files.types) {
      const int64_t column = chosen_column(choice.column, rows.names(), rows.head().columns(), place);
      const auto slot = std::find(columns_.begin(), columns_.end(), column);
      if (slot == columns_.end())
        data_fail("{}: {} has a type, but is no feature", place, column_text(column, rows.names()));
      const auto c = static_cast<size_t>(slot - columns_.begin());
      contents_[c] = ColumnContents(choice.type, rows.head().decimal);
      encoders_[c].columns = choice.columns;
    }
  }

  /// Finds the types while reading numbers, and reads the other columns again.
  FeatureTable read() {
    FeatureTable table;
    scan(table);
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (const std::string problem = contents_[c].choose(count_, encoders_[c]); !problem.empty())
        source_.fail(contents_[c].text_line(), "\"{}\" in {}, {}", excerpt(contents_[c].text()), called(c),
                     problem);
      note_type(c, table);
    }
    if (!files_.impute) expect_no_gaps();
    const auto is_number = [](const ColumnEncoder& e) { return e.type == ColumnType::number; };
    if (!std::all_of(encoders_.begin(), encoders_.end(), is_number)) {
      TextSource again(source_.path(), source_.input());
      Tensor x = empty_features();
      copy_numbers(table.x, x);
      const std::vector<FieldGaps> gaps = encode(again, x, false);
      for (size_t c = 0; c < columns_.size(); ++c) table.note += combining_note(c, gaps[c]);
      table.x = x;
    }
    return finished(std::move(table));
  }

  /// One pass, by encoders that are known.
  FeatureTable read_like() {
    FeatureTable table;
    table.x = empty_features();
    const std::vector<FieldGaps> gaps = encode(source_, table.x, true);
    expect_rows();
    table.note = rows_.note(skipped_) + fmt::format("; features as in {}", excerpt(files_.like->path));
    for (size_t c = 0; c < columns_.size(); ++c) note_gaps(c, gaps[c], table);
    fill(table.x);
    return finished(std::move(table));
  }

 private:
  std::string called(size_t c) const { return column_text(columns_[c], rows_.names()); }
  std::string name(size_t c) const { return column_name(columns_[c], rows_.names()); }

  FeatureTable finished(FeatureTable table) const {
    table.encoder.columns = encoders_;
    if (count_ != nodes_)
      table.note += fmt::format("; {} without a row", plural(nodes_ - count_, files_.item));
    return table;
  }

  void scan(FeatureTable& table) {
    const int64_t columns = std::ssize(columns_);
    table.x = Tensor::full({nodes_, columns}, kNaN);
    float* const x = table.x.mutable_data<float>();
    std::tie(count_, last_line_) = rows_.read_rows(
        source_, [&](const TextBlock& block) { return scan_block(block); },
        [&](const ScannedRows& part, size_t k, int32_t node) {
          rows_.mark(node, part.lines[k]);
          std::copy_n(part.values.data() + static_cast<int64_t>(k) * columns, columns, x + node * columns);
        },
        [&](const ScannedRows& part) {
          skipped_ += part.skipped;
          for (size_t c = 0; c < contents_.size(); ++c) contents_[c].merge(part.contents[c]);
        });
    expect_rows();
    table.note = rows_.note(skipped_);
  }

  ScannedRows scan_block(const TextBlock& block) const {
    ScannedRows part;
    for (const ColumnContents& contents : contents_)
      part.contents.emplace_back(contents.wanted(), rows_.head().decimal);
    rows_.read_block(
        block, std::ssize(columns_), part,
        [&](size_t slot, std::string_view field, int64_t line, float* row) {
          ColumnContents& contents = part.contents[slot];
          const bool text = contents.wanted().value_or(ColumnType::number) != ColumnType::number;
          if (const std::optional<float> number = text ? std::nullopt : rows_.head().number_in(field)) {
            row[slot] = *number;
            contents.add_number(field, *number);
          } else if (is_missing(field)) {
            contents.add_gap(line);
          } else {
            source_.expect_utf8(line, field);
            contents.add_text(field, line);
          }
        });
    return part;
  }

  /// Nodes without a row need something to have instead.
  void expect_rows() const {
    if (count_ == nodes_) return;
    const bool filled =
        files_.like ? std::all_of(encoders_.begin(), encoders_.end(), is_filled) : files_.impute.has_value();
    if (rows_.by_row() || !filled || 2 * count_ < nodes_)
      source_.fail(last_line_, "{}", rows_.shortage(count_));
  }
  static bool is_filled(const ColumnEncoder& encoder) {
    return encoder.has_zeros() || !encoder.filling.empty();
  }

  /// Without imputation only texts may be missing: all their columns are 0.
  void expect_no_gaps() const {
    const ColumnContents* first = nullptr;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const ColumnContents& contents = contents_[c];
      if (contents.gaps() > 0 && !encoders_[c].has_zeros() &&
          (first == nullptr || contents.gap_line() < first->gap_line()))
        first = &contents;
    }
    if (first == nullptr) return;
    source_.fail(
        first->gap_line(),
        "no number in {}, expected a finite one within float32 (--impute mean, median or zero fills gaps)",
        called(static_cast<size_t>(first - contents_.data())));
  }

  /// [N, F]: 0 for texts, which may be missing, else NaN.
  Tensor empty_features() const {
    std::vector<float> row;
    for (const ColumnEncoder& encoder : encoders_)
      row.insert(row.end(), static_cast<size_t>(encoder.width()), encoder.has_zeros() ? 0.0f : kNaN);
    const int64_t width = std::ssize(row);
    expect_room(source_, nodes_, width);
    Tensor x = Tensor::empty({nodes_, width});
    float* const values = x.mutable_data<float>();
    for (int64_t i = 0; i < nodes_; ++i) std::copy(row.begin(), row.end(), values + i * width);
    return x;
  }

  void copy_numbers(const Tensor& numbers, Tensor& x) const {
    const int64_t columns = std::ssize(columns_), width = x.size(1);
    const float* const source = numbers.data<float>();
    float* const target = x.mutable_data<float>();
    int64_t begin = 0;
    for (int64_t c = 0; c < columns; begin += encoders_[static_cast<size_t>(c)].width(), ++c)
      if (encoders_[static_cast<size_t>(c)].type == ColumnType::number)
        for (int64_t i = 0; i < nodes_; ++i) target[i * width + begin] = source[i * columns + c];
  }

  /// One pass that encodes columns into x: all, or those that are no numbers.
  std::vector<FieldGaps> encode(TextSource& source, Tensor& x, bool all) {
    const int64_t width = x.size(1);
    float* const target = x.mutable_data<float>();
    std::vector<FieldEncoder> encoders;
    std::vector<int64_t> begins, packed;  // of a column in x, and in what is read now; -1: not read
    int64_t begin = 0, read = 0;
    for (const ColumnEncoder& encoder : encoders_) {
      const bool chosen = all || encoder.type != ColumnType::number;
      encoders.emplace_back(encoder, rows_.head().decimal.value_or(Decimal::point));
      begins.push_back(begin);
      packed.push_back(chosen ? read : -1);
      begin += encoder.width();
      if (chosen) read += encoder.width();
    }
    std::vector<FieldGaps> gaps(columns_.size());
    std::tie(count_, last_line_) = rows_.read_rows(
        source,
        [&](const TextBlock& block) {
          EncodedRows part;
          part.gaps.resize(columns_.size());
          rows_.read_block(block, read, part,
                           [&](size_t slot, std::string_view field, int64_t line, float* row) {
                             if (packed[slot] < 0) return;
                             const FieldState state = encoders[slot].encode(field, row + packed[slot]);
                             if (state == FieldState::wrong) fail_type(slot, field, line);
                             source_.expect_utf8(line, field);
                             part.gaps[slot].add(state, encoders[slot], field, line, row + packed[slot]);
                           });
          return part;
        },
        [&](const EncodedRows& part, size_t k, int32_t node) {
          if (all) rows_.mark(node, part.lines[k]);
          const float* const row = part.values.data() + static_cast<int64_t>(k) * read;
          for (size_t c = 0; c < columns_.size(); ++c)
            if (packed[c] >= 0)
              std::copy_n(row + packed[c], encoders_[c].width(), target + node * width + begins[c]);
        },
        [&](const EncodedRows& part) {
          if (all) skipped_ += part.skipped;
          for (size_t c = 0; c < gaps.size(); ++c) gaps[c].merge(part.gaps[c]);
        });
    return gaps;
  }

  [[noreturn]] void fail_type(size_t c, std::string_view field, int64_t line) const {
    source_.fail(line, "\"{}\" in {}, expected {}{}", excerpt(field), called(c),
                 description(encoders_[c].type), files_.like ? " as in " + excerpt(files_.like->path) : "");
  }

  void note_type(size_t c, FeatureTable& table) const {
    const ColumnEncoder& encoder = encoders_[c];
    if (encoder.type != ColumnType::number) {
      table.note += fmt::format("; {}: {}", excerpt(encoder.column), type_note(encoder));
      if (encoder.type == ColumnType::date) table.note += contents_[c].dates().rounding(encoder.origin);
      if (encoder.has_zeros() && contents_[c].gaps() > 0)
        table.note += fmt::format(", {} without one", contents_[c].gaps());
      if (encoder.type == ColumnType::vector)
        if (const std::string losses = contents_[c].numbers().losses(""); !losses.empty())
          table.note += ", " + losses;
    } else {
      table.note += number_note(c, contents_[c].numbers());
    }
  }

  /// Throws for numbers that need a decimal mark.
  std::string number_note(size_t c, const NumberFields& numbers) const {
    numbers.thousands.expect_decimal(source_, rows_.head(), called(c));
    const std::string column = excerpt(encoders_[c].column);
    const std::string losses =
        numbers.losses(files_.like ? "" : " (--types COLUMN=category or hash keeps it)");
    return (losses.empty() ? "" : fmt::format("; {}: numbers, {}", column, losses)) +
           numbers.thousands.note(rows_.head(), column + ": number");
  }

  std::string combining_note(size_t c, const FieldGaps& gaps) const {
    if (gaps.combining == 0) return "";
    return fmt::format(
        "; {}: {} with combining marks, other texts than with single letters (NFC) and hashed as such",
        excerpt(encoders_[c].column), plural(gaps.combining, "field"));
  }

  /// Notes or refuses what has no features by an encoder that is known.
  void note_gaps(size_t c, const FieldGaps& gaps, FeatureTable& table) const {
    const ColumnEncoder& encoder = encoders_[c];
    const std::string column = excerpt(encoder.column);
    table.note += number_note(c, gaps.numbers) + combining_note(c, gaps);
    if (encoder.type == ColumnType::set) expect_separator(c, gaps, table);
    if (gaps.dates.mixes_zones())
      source_.fail(gaps.dates.mixed_line(), "\"{}\" in {}, {}", excerpt(gaps.dates.mixed_text()), called(c),
                   gaps.dates.mixed());
    if (const std::string rounding = gaps.dates.rounding(encoder.origin); !rounding.empty())
      table.note += fmt::format("; {}: dates{}", column, rounding);
    if (const std::optional<bool> zones = gaps.dates.zones();
        zones && encoder.zones && *zones != *encoder.zones)
      table.note += fmt::format("; {} has {}", column, zones_text(*zones));
    if (gaps.missing > 0) {
      if (!is_filled(encoder))
        source_.fail(gaps.missing_line,
                     "no value in {}, expected one, as {} was converted without --impute and has none for "
                     "gaps (convert its table again with --impute, or fill the gaps)",
                     called(c), excerpt(files_.like->path));
      table.note += fmt::format("; {}: {} missing", column, gaps.missing);
      if (!encoder.filling.empty())
        table.note += fmt::format(", {} as there", fmt::join(encoder.filling, " "));
    }
    if (gaps.unknown == 0) return;
    std::string texts;
    for (const std::string& text : gaps.texts) texts += (texts.empty() ? "" : ", ") + excerpt(text);
    if (!is_filled(encoder))
      source_.fail(0, "{} has texts that {} does not know ({}), expected its {}", called(c),
                   excerpt(files_.like->path), texts, encoder.categories.size());
    table.note += fmt::format("; {}: {} of categories that are not known there ({})", column,
                              plural(gaps.unknown, "row"), texts);
  }

  /// Refuses a set whose items have another separator than there, as each field would be one item: one that
  /// is in few items, or any that is in all fields of many. What may be within items is noted: commas, and
  /// what most fields have.
  void expect_separator(size_t c, const FieldGaps& gaps, FeatureTable& table) const {
    constexpr int64_t kMany = 20;
    const Separator expected = set_separator(encoders_[c]);
    std::string note;
    for (size_t k = 0; k < gaps.separated.size(); ++k)
      if (kItemEnds[k] == expected && gaps.separated[k] > 0) return;
    for (size_t k = 0; k < gaps.separated.size(); ++k) {
      const int64_t count = gaps.separated[k];
      if (count == 0) continue;
      const std::string text =
          fmt::format("{} in {}, and in none {}, which is between the items in {}", name_of(kItemEnds[k]),
                      plural(count, "field"), name_of(expected), excerpt(files_.like->path));
      if (k < kCertainEnds || (count == gaps.sets && count >= kMany))
        source_.fail(0, "{} has {}, expected it here, too", called(c), text);
      if (note.empty() && (kItemEnds[k] == Separator::comma || 2 * count > gaps.sets))
        note = fmt::format("; {}: {}", excerpt(encoders_[c].column), text);
    }
    table.note += note;
  }

  void fill(Tensor& x) const {
    float* const values = x.mutable_data<float>();
    const int64_t width = x.size(1);
    int64_t begin = 0;
    for (const ColumnEncoder& encoder : encoders_) {
      for (size_t k = 0; k < encoder.filling.size(); ++k)
        for (int64_t i = 0; i < nodes_; ++i)
          if (float& value = values[i * width + begin + static_cast<int64_t>(k)]; std::isnan(value))
            value = encoder.filling[k];
      begin += encoder.width();
    }
  }

  NodeRows& rows_;
  TextSource& source_;
  int64_t nodes_;
  const NodeFiles& files_;
  const std::vector<int64_t>& columns_;  // of the file, by slot
  std::vector<ColumnContents> contents_;
  std::vector<ColumnEncoder> encoders_;
  int64_t count_ = 0, last_line_ = 0;
  SkippedLines skipped_;
};

}  // namespace

FeatureTable read_features(NodeRows& rows, int64_t nodes, const NodeFiles& files) {
  expect_room(rows.source(), nodes, std::ssize(rows.slots()));
  TableReader reader(rows, nodes, files);
  return files.like ? reader.read_like() : reader.read();
}

std::string impute(FeatureTable& table, Imputation imputation, const Tensor& train, const TextSource& source,
                   std::string_view item) {
  constexpr int64_t kShown = 5;
  const int64_t nodes = table.x.size(0), columns = table.x.size(1);
  float* const values = table.x.mutable_data<float>();
  std::vector<int32_t> fitted;
  if (train)
    fitted = train.to_vector<int32_t>();
  else
    for (int64_t i = 0; i < nodes; ++i) fitted.push_back(static_cast<int32_t>(i));
  const std::vector<std::string> names = table.encoder.feature_names();
  int64_t all = 0, with_gaps = 0, column = 0;
  std::string where;
  for (ColumnEncoder& encoder : table.encoder.columns) {
    if (encoder.has_zeros()) {
      column += encoder.width();
      continue;
    }
    for (int64_t k = 0; k < encoder.width(); ++k, ++column) {
      const std::string name = excerpt(names[static_cast<size_t>(column)]);
      std::vector<float> seen;
      for (const int32_t i : fitted)
        if (!std::isnan(values[i * columns + column])) seen.push_back(values[i * columns + column]);
      if (seen.empty() && imputation != Imputation::zero)
        source.fail(0, "no number in {}{}, expected at least one to find its {}", name,
                    train ? fmt::format(" of the training {}s", item) : "", name_of(imputation));
      encoder.filling.push_back(detail::imputed_value(imputation, std::move(seen)));
      int64_t missing = 0;
      for (int64_t i = 0; i < nodes; ++i)
        if (float& value = values[i * columns + column]; std::isnan(value)) {
          value = encoder.filling.back();
          ++missing;
        }
      if (missing == 0) continue;
      all += missing;
      if (++with_gaps <= kShown) where += fmt::format("{}{} in {}", where.empty() ? "" : ", ", missing, name);
    }
  }
  if (all == 0) return "nothing to impute";
  return fmt::format(
      "{} imputed ({}{}) in {}: {}{}", plural(all, "missing number"), name_of(imputation),
      train && imputation != Imputation::zero ? fmt::format(" of {} training {}s", fitted.size(), item) : "",
      plural(with_gaps, "column"), where, with_gaps > kShown ? ", …" : "");
}

std::string constant_columns(const FeatureTable& table) {
  const int64_t nodes = table.x.size(0), columns = table.x.size(1);
  if (nodes < 2) return "";
  const float* const x = table.x.data<float>();
  std::vector<int64_t> constant;  // not of hashes, of which many are never used
  int64_t begin = 0;
  for (const ColumnEncoder& encoder : table.encoder.columns) {
    for (int64_t k = 0; k < encoder.width() && !is_hashed(encoder); ++k) constant.push_back(begin + k);
    begin += encoder.width();
  }
  for (int64_t i = 1; i < nodes && !constant.empty(); ++i)
    std::erase_if(constant, [&](int64_t c) { return x[i * columns + c] != x[c]; });
  const std::vector<std::string> all = table.encoder.feature_names();
  std::vector<std::string> names;
  for (const int64_t c : constant) names.push_back(all[static_cast<size_t>(c)]);
  return names.empty() ? "" : "; constant: " + detail::listed(names, 5);
}

}  // namespace adj
