#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/detail/node_rows.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace adj {

namespace {

/// A whole number of any size: its sign, and its digits without leading zeros; none for 0.
struct Whole {
  bool negative;
  std::string_view digits;
};
std::optional<Whole> whole_in(std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return Whole{negative && !text.empty(), text};
}
bool operator<(const Whole& a, const Whole& b) {
  if (a.negative != b.negative) return a.negative;
  const Whole &less = a.negative ? b : a, &more = a.negative ? a : b;  // by size
  return std::pair(less.digits.size(), less.digits) < std::pair(more.digits.size(), more.digits);
}

/// A number that double tells from all others of as many digits; larger whole ones would become one class.
std::optional<double> exact_double_in(std::string_view text) {
  constexpr double kExact = 1LL << 53;
  const std::optional<double> value = double_in(text);
  return value && std::abs(*value) < kExact ? value : std::nullopt;
}

/// Ascending; compares as integers or numbers if all labels are such.
struct LabelOrder {
  enum class Kind : uint8_t { integers, numbers, text };
  Kind kind = Kind::integers;
  bool operator()(const std::string& a, const std::string& b) const {
    if (kind == Kind::integers) return *whole_in(a) < *whole_in(b);
    return kind == Kind::numbers ? *double_in(a) < *double_in(b) : a < b;
  }
};

/// The distinct labels of a file, numbered by first appearance, and the spellings of missing ones.
class Labels {
 public:
  explicit Labels(const std::optional<std::vector<std::string>>& missing) : missing_(missing) {}

  /// -1: missing.
  int32_t add(std::string_view field) {
    auto entry = found_.find(field);
    if (entry == found_.end()) {
      if (is_none(field)) {
        const auto none = none_.find(field);
        ++(none == none_.end() ? none_.emplace(field, 0).first : none)->second;
        return -1;
      }
      entry = found_.emplace(field, static_cast<int32_t>(found_.size())).first;
      texts_.push_back(&entry->first);
    }
    return entry->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

  /// "; 3 lines taken as unlabelled: 2 of "NA", 1 of "-1"".
  std::string note() const {
    constexpr int kShown = 5;
    int64_t lines = 0;
    int shown = 0;
    std::string spelled;
    for (const auto& [text, count] : none_) {
      lines += count;
      if (++shown <= kShown)
        spelled += fmt::format("{} {} of \"{}\"", spelled.empty() ? "" : ",", count, excerpt(text));
    }
    if (lines == 0) return "";
    return fmt::format("; {} line{} taken as unlabelled:{}{}", lines, lines == 1 ? "" : "s", spelled,
                       shown > kShown ? ", …" : "");
  }

 private:
  bool is_none(std::string_view field) const {
    if (field.empty()) return true;
    if (missing_) return std::find(missing_->begin(), missing_->end(), field) != missing_->end();
    return is_missing(field) || double_in(field) == -1.0;
  }

  const std::optional<std::vector<std::string>>& missing_;
  std::map<std::string, int32_t, std::less<>> found_;
  std::map<std::string, int64_t, std::less<>> none_;
  std::vector<const std::string*> texts_;
};

/// "; class "unknown" has 3 of 5 labels (…)": names that usually mean no label.
std::string doubtful_classes(const Dataset& data) {
  constexpr std::string_view kNone[] = {"unknown", "unk",       "unlabeled", "unlabelled",
                                        "missing", "undefined", "-"};
  std::vector<int64_t> count(data.class_names.size());
  for (int32_t c : data.y.to_vector<int32_t>())
    if (c >= 0 && !count.empty()) ++count[static_cast<size_t>(c)];
  std::string note;
  for (size_t c = 0; c < count.size(); ++c)
    if (const std::string& name = data.class_names[c];
        std::find(std::begin(kNone), std::end(kNone), lower(name)) != std::end(kNone))
      note += fmt::format("; \"{}\" is a class, of {} node{} (--missing-labels \"{}\" makes it none)",
                          excerpt(name), count[c], count[c] == 1 ? "" : "s", excerpt(name));
  return note;
}

template <class Parse>
bool all_of(const std::vector<const std::string*>& texts, Parse parse) {
  return std::all_of(texts.begin(), texts.end(), [&](const auto* text) { return parse(*text).has_value(); });
}

}  // namespace

std::string read_classes(NodeRows& rows, const NodeFiles& files, Dataset& data) {
  TextSource& source = rows.source();
  Labels labels(files.missing_labels);
  data.y = Tensor::full({data.num_nodes()}, -1, DType::i32);
  int32_t* const y = data.y.mutable_data<int32_t>();
  int64_t row = 0;
  RecordReader reader(source, rows.head().format);
  while (reader.next(rows.blank_rows())) {
    const int64_t line = reader.number();
    if (rows.is_header(line)) continue;
    int64_t column = 0;
    int32_t node = -1;
    std::optional<std::string> label;
    for (RecordFields field(source, line, reader.record(), rows.head().format.separator); field.next();
         ++column) {
      if (column == rows.id_column()) node = rows.node_of(field.field(), line);
      if (rows.slot(column) >= 0) label = field.field();
    }
    if (rows.by_row()) node = rows.node_of_row(row, line);
    if (column > std::max<int64_t>(rows.head().columns(), 1))  // the first may be an empty line
      source.fail(line, "{} fields, expected {} as in the first line", column, rows.head().columns());
    if (!label && !rows.by_row() && rows.head().format.separator != Separator::blanks)
      source.fail(line, "no label, expected one after the id");
    rows.mark(node, line);
    source.expect_utf8(line, label.value_or(""));
    y[node] = labels.add(label.value_or(""));
    ++row;
  }
  if (rows.by_row() && row != data.num_nodes()) source.fail(reader.number(), "{}", rows.shortage(row));
  const std::vector<const std::string*>& texts = labels.texts();
  if (texts.empty()) source.fail(0, "no labels, expected some");

  using enum LabelOrder::Kind;
  const LabelOrder order{all_of(texts, whole_in)          ? integers
                         : all_of(texts, exact_double_in) ? numbers
                                                          : text};
  std::map<std::string, int32_t, LabelOrder> classes(order);  // "1" and "01" are equal if all are numbers
  for (const std::string* one : texts) classes.emplace(*one, 0);
  bool fractions = false, named = order.kind == text;
  for (int32_t next = 0; auto& [name, number] : classes) {
    number = next++;
    named = named || double_in(name) != static_cast<double>(number);
    fractions = fractions || (order.kind == numbers && *double_in(name) != std::floor(*double_in(name)));
  }
  std::vector<int32_t> class_of(texts.size());
  for (size_t k = 0; k < texts.size(); ++k) class_of[k] = classes.find(*texts[k])->second;
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    if (y[i] >= 0) y[i] = class_of[static_cast<size_t>(y[i])];
    data.unlabelled += y[i] < 0;
  }
  data.classes = static_cast<int64_t>(classes.size());
  for (const auto& [name, number] : classes)
    if (named) data.class_names.push_back(name);
  return fmt::format("{}; labels are {}{}{}{}", rows.note(reader.comments()),
                     order.kind == text ? "text, alphabetical" : "numbers, in ascending order",
                     fractions ? ", some with fractions (--task node_regression for targets)" : "",
                     labels.note(), doubtful_classes(data));
}

}  // namespace adj
