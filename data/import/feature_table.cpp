#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/column_numbers.h>
#include <adjoint/data/import/detail/feature_table.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace adj {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kMostTexts = 64;

std::optional<float> boolean_in(std::string_view text) {
  if (text.size() > 5) return {};
  const std::string word = lower(text);
  return word == "true" ? std::optional(1.0f) : word == "false" ? std::optional(0.0f) : std::nullopt;
}

/// The numbers of a field such as "0.1, 0.2" or "[1 2 3]"; empty if it is something else.
std::vector<float> vector_in(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view ends : {"[]", "()", "{}"})
    if (text.size() > 1 && text.front() == ends[0] && text.back() == ends[1])
      text = trimmed(text.substr(1, text.size() - 2));
  const Separator separator = separator_of(text);
  std::vector<float> numbers;
  for (FieldCursor field(text, separator); field.next();) {
    const std::optional<float> number = float_in(field.field());
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers.size() > 1 ? numbers : std::vector<float>();
}

/// What is in a column besides numbers.
struct Texts {
  int64_t texts = 0, booleans = 0, vectors = 0, gaps = 0;
  int64_t line = 0, gap_line = 0;  // of the first of them
  std::string first;
  int64_t width = 0;                         // numbers in each vector; -1: different
  std::set<std::string, std::less<>> kinds;  // at most kMostTexts + 1

  void add_kind(std::string_view field) {
    if (kinds.size() <= kMostTexts && !kinds.contains(field)) kinds.emplace(field);
  }
  void add(std::string_view field, int64_t at_line) {
    if (texts++ == 0) {
      line = at_line;
      first = field;
    }
    booleans += boolean_in(field).has_value();
    if (vectors + 1 == texts)
      if (const auto numbers = static_cast<int64_t>(vector_in(field).size()); numbers > 0) {
        width = vectors > 0 && width != numbers ? -1 : numbers;
        ++vectors;
      }
    add_kind(field);
  }
  void merge(const Texts& later) {
    if (texts == 0) {
      line = later.line;
      first = later.first;
    }
    if (gaps == 0) gap_line = later.gap_line;
    if (later.vectors > 0) width = vectors == 0 || width == later.width ? later.width : -1;
    texts += later.texts;
    booleans += later.booleans;
    vectors += later.vectors;
    gaps += later.gaps;
    for (const std::string& kind : later.kinds) add_kind(kind);
  }
};

/// Rows of one block, and what else is in their columns.
struct TextRows : RowBlock {
  std::vector<Texts> texts;
};

class TableReader {
 public:
  TableReader(NodeRows& rows, int64_t nodes, const NodeFiles& files)
      : rows_(rows),
        source_(rows.source()),
        nodes_(nodes),
        files_(files),
        columns_(rows.slots()),
        texts_(columns_.size()),
        types_(columns_.size(), ColumnType::number),
        widths_(columns_.size(), 1),
        chosen_(columns_.size()) {
    for (const auto& [name, type] : files.types) {
      const std::string place = fmt::format("{}:{}", excerpt(source_.path()), rows.head().format.first_line);
      const int64_t column = chosen_column(name, rows.names(), rows.head().columns(), place);
      const auto slot = std::find(columns_.begin(), columns_.end(), column);
      if (slot == columns_.end()) data_fail("{}: {} has a type, but is no feature", place, called(column));
      chosen_[static_cast<size_t>(slot - columns_.begin())] = type;
    }
  }

  FeatureTable read() {
    const int64_t columns = std::ssize(columns_);
    FeatureTable table;
    table.x = Tensor::full({nodes_, columns}, kNaN);
    float* const x = table.x.mutable_data<float>();
    int64_t comments = 0;
    std::tie(count_, last_line_) = rows_.read_rows(
        source_, [&](const TextBlock& block) { return parse(block); },
        [&](const TextRows& part, size_t k, int32_t node) {
          rows_.mark(node, part.lines[k]);
          std::copy_n(part.values.data() + static_cast<int64_t>(k) * columns, columns, x + node * columns);
        },
        [&](const TextRows& part) {
          comments += part.comments;
          for (size_t c = 0; c < texts_.size(); ++c) texts_[c].merge(part.texts[c]);
        });
    if (count_ != nodes_ && (rows_.by_row() || !files_.impute || 2 * count_ < nodes_))
      source_.fail(last_line_, "{}", rows_.shortage(count_));
    for (size_t c = 0; c < columns_.size(); ++c) choose_type(c);
    expect_no_gaps();
    table.note = rows_.note(comments);
    if (std::any_of(types_.begin(), types_.end(), [](ColumnType t) { return t != ColumnType::number; }))
      expand(table);
    else
      for (int64_t column : columns_) table.names.push_back(name(column));
    if (count_ != nodes_)
      table.note +=
          fmt::format("; {} node{} without a row", nodes_ - count_, nodes_ - count_ == 1 ? "" : "s");
    return table;
  }

 private:
  std::string called(int64_t column) const { return column_text(column, rows_.names()); }
  std::string name(int64_t column) const { return column_name(column, rows_.names()); }

  TextRows parse(const TextBlock& block) const {
    TextRows part;
    part.texts.resize(columns_.size());
    rows_.read_block(block, std::ssize(columns_), part,
                     [&](size_t slot, std::string_view field, int64_t line, float* row) {
                       const bool category = chosen_[slot] == ColumnType::category;
                       if (const std::optional<float> number = category ? std::nullopt : float_in(field)) {
                         row[slot] = *number;
                       } else if (is_missing(field)) {
                         if (part.texts[slot].gaps++ == 0) part.texts[slot].gap_line = line;
                       } else {
                         source_.expect_utf8(line, field);
                         part.texts[slot].add(field, line);
                       }
                     });
    return part;
  }

  void choose_type(size_t c) {
    const Texts& t = texts_[c];
    if (t.texts == 0 && chosen_[c] != ColumnType::category) return;
    const int64_t numbers = count_ - t.texts - t.gaps;
    if (chosen_[c] == ColumnType::number || numbers > 0) {
      source_.fail(t.line, "\"{}\" in {}, expected a finite number within float32{}", excerpt(t.first),
                   called(columns_[c]),
                   chosen_[c]
                       ? ""
                       : fmt::format(", as {} other field{} there", numbers, numbers == 1 ? " is" : "s are"));
    }
    if (chosen_[c] != ColumnType::category && t.booleans == t.texts) {
      types_[c] = ColumnType::boolean;
    } else if (chosen_[c] != ColumnType::category && t.vectors == t.texts) {
      if (t.width < 0)
        source_.fail(t.line, "\"{}\" in {}, a column of vectors of different lengths, expected equal ones",
                     excerpt(t.first), called(columns_[c]));
      types_[c] = ColumnType::vector;
      widths_[c] = t.width;
    } else {
      const auto kinds = static_cast<int64_t>(t.kinds.size());
      const bool identifies = !chosen_[c] && t.texts > 2 && kinds == t.texts;
      if (t.kinds.size() > kMostTexts || identifies)
        source_.fail(t.line,
                     "\"{}\" in {}, a column of {}, expected numbers, or texts of {} categories at most "
                     "(--without COLUMN: no feature)",
                     excerpt(t.first), called(columns_[c]),
                     identifies ? "another text in every row" : fmt::format("more than {} texts", kMostTexts),
                     kMostTexts);
      types_[c] = ColumnType::category;
      widths_[c] = kinds;
    }
  }

  /// Without imputation only categories may be missing: all their columns are 0.
  void expect_no_gaps() const {
    if (files_.impute) return;
    const Texts* first = nullptr;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Texts& t = texts_[c];
      if (t.gaps > 0 && types_[c] != ColumnType::category &&
          (first == nullptr || t.gap_line < first->gap_line))
        first = &t;
    }
    if (first == nullptr) return;
    source_.fail(
        first->gap_line,
        "no number in {}, expected a finite one within float32 (--impute mean, median or zero fills gaps)",
        called(columns_[static_cast<size_t>(first - texts_.data())]));
  }

  /// Reads the columns that are not numbers again, and replaces x.
  void expand(FeatureTable& table) {
    std::vector<int64_t> begins{0}, special;  // of each column in the result, and in what is read now
    int64_t width = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      special.push_back(types_[c] == ColumnType::number ? -1 : width);
      if (types_[c] != ColumnType::number) width += widths_[c];
      begins.push_back(begins.back() + widths_[c]);
      add_names(c, table);
    }
    const int64_t columns = std::ssize(columns_), all = begins.back();
    Tensor x = Tensor::full({nodes_, all}, kNaN);
    float* const target = x.mutable_data<float>();
    const float* const numbers = table.x.data<float>();
    for (int64_t i = 0; i < nodes_; ++i)
      for (size_t c = 0; c < columns_.size(); ++c) {
        float* const place = target + i * all + begins[c];
        if (types_[c] == ColumnType::number) *place = numbers[i * columns + static_cast<int64_t>(c)];
        if (types_[c] == ColumnType::category) std::fill_n(place, widths_[c], 0.0f);  // none, without a row
      }
    TextSource again(source_.path());
    rows_.read_rows(
        again,
        [&](const TextBlock& block) {
          RowBlock part;
          rows_.read_block(block, width, part, [&](size_t slot, std::string_view field, int64_t, float* row) {
            if (special[slot] >= 0) write(slot, field, row + special[slot]);
          });
          return part;
        },
        [&](const RowBlock& part, size_t k, int32_t node) {
          const float* const row = part.values.data() + static_cast<int64_t>(k) * width;
          for (size_t c = 0; c < columns_.size(); ++c)
            if (special[c] >= 0) std::copy_n(row + special[c], widths_[c], target + node * all + begins[c]);
        },
        [](const RowBlock&) {});
    table.x = x;
  }

  void add_names(size_t c, FeatureTable& table) const {
    const std::string column = name(columns_[c]);
    const Texts& t = texts_[c];
    if (types_[c] == ColumnType::number) {
      table.names.push_back(column);
      return;
    }
    if (types_[c] == ColumnType::boolean) {
      table.names.push_back(column);
      table.note += fmt::format("; {}: boolean", excerpt(column));
    } else if (types_[c] == ColumnType::vector) {
      for (int64_t k = 0; k < widths_[c]; ++k) table.names.push_back(fmt::format("{}[{}]", column, k));
      table.note += fmt::format("; {}: {} numbers in a field", excerpt(column), widths_[c]);
    } else {
      for (const std::string& kind : t.kinds) table.names.push_back(column + "=" + kind);
      table.note += fmt::format("; {}: category of {}", excerpt(column), t.kinds.size());
      if (t.gaps > 0) table.note += fmt::format(", {} without one", t.gaps);
    }
  }

  void write(size_t c, std::string_view field, float* target) const {
    if (types_[c] == ColumnType::category) {
      std::fill_n(target, widths_[c], 0.0f);
      const auto& kinds = texts_[c].kinds;
      if (const auto kind = kinds.find(field); kind != kinds.end())
        target[std::distance(kinds.begin(), kind)] = 1.0f;
    } else if (types_[c] == ColumnType::boolean) {
      *target = boolean_in(field).value_or(kNaN);
    } else if (const std::vector<float> numbers = vector_in(field); std::ssize(numbers) == widths_[c]) {
      std::copy(numbers.begin(), numbers.end(), target);
    }
  }

  NodeRows& rows_;
  TextSource& source_;
  int64_t nodes_;
  const NodeFiles& files_;
  const std::vector<int64_t>& columns_;  // of the file, by slot
  std::vector<Texts> texts_;
  std::vector<ColumnType> types_;
  std::vector<int64_t> widths_;
  std::vector<std::optional<ColumnType>> chosen_;
  int64_t count_ = 0, last_line_ = 0;
};

}  // namespace

FeatureTable read_features(NodeRows& rows, int64_t nodes, const NodeFiles& files) {
  expect_room(rows.source(), nodes, std::ssize(rows.slots()));
  return TableReader(rows, nodes, files).read();
}

std::string impute(FeatureTable& table, Imputation imputation, const Tensor& train,
                   const TextSource& source) {
  constexpr int64_t kShown = 5;
  const int64_t nodes = table.x.size(0), columns = table.x.size(1);
  float* const values = table.x.mutable_data<float>();
  std::vector<int64_t> gaps(static_cast<size_t>(columns));
  for (int64_t k = 0; k < nodes * columns; ++k)
    gaps[static_cast<size_t>(k % columns)] += std::isnan(values[k]);
  std::vector<int32_t> fitted;
  if (train)
    fitted = train.to_vector<int32_t>();
  else
    for (int64_t i = 0; i < nodes; ++i) fitted.push_back(static_cast<int32_t>(i));
  int64_t all = 0, with_gaps = 0;
  std::string where;
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t missing = gaps[static_cast<size_t>(column)];
    if (missing == 0) continue;
    const std::string name = excerpt(table.names[static_cast<size_t>(column)]);
    std::vector<float> seen;
    for (const int32_t i : fitted)
      if (!std::isnan(values[i * columns + column])) seen.push_back(values[i * columns + column]);
    if (seen.empty() && imputation != Imputation::zero)
      source.fail(0, "no number in {}{}, expected at least one to find its {}", name,
                  train ? " of the training nodes" : "", name_of(imputation));
    const float filling = detail::imputed_value(imputation, std::move(seen));
    for (int64_t i = 0; i < nodes; ++i)
      if (std::isnan(values[i * columns + column])) values[i * columns + column] = filling;
    all += missing;
    if (++with_gaps <= kShown) where += fmt::format("{}{} in {}", where.empty() ? "" : ", ", missing, name);
  }
  if (all == 0) return "nothing to impute";
  return fmt::format(
      "{} missing number{} imputed ({}{}) in {} column{}: {}{}", all, all == 1 ? "" : "s",
      name_of(imputation),
      train && imputation != Imputation::zero ? fmt::format(" of {} training nodes", fitted.size()) : "",
      with_gaps, with_gaps == 1 ? "" : "s", where, with_gaps > kShown ? ", …" : "");
}

std::string constant_columns(const FeatureTable& table) {
  const int64_t nodes = table.x.size(0), columns = table.x.size(1);
  if (nodes < 2) return "";
  const float* const x = table.x.data<float>();
  std::vector<int64_t> constant;
  for (int64_t c = 0; c < columns; ++c) constant.push_back(c);
  for (int64_t i = 1; i < nodes && !constant.empty(); ++i)
    std::erase_if(constant, [&](int64_t c) { return x[i * columns + c] != x[c]; });
  std::vector<std::string> names;
  for (const int64_t c : constant) names.push_back(table.names[static_cast<size_t>(c)]);
  return names.empty() ? "" : "; constant: " + detail::listed(names, 5);
}

}  // namespace adj
