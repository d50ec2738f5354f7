#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Classes of labels that are texts.
struct LabelClasses {
  /// What the labels are compared as; integers may have any number of digits.
  enum class Order : uint8_t { integers, numbers, text };
  /// Numeric if all labels are numbers, none of which begins with a zero as codes do ("01"), else of their
  /// bytes.
  Order order = Order::integers;
  std::vector<std::string> names;  ///< in ascending order; of equal numbers ("1", "1.0") one
  std::vector<int32_t> class_of;   ///< the class of each text
  bool named = false;              ///< whether the names say more than 0 … C - 1
  bool fractions = false;          ///< whether some are numbers with fractions

  int64_t codes = 0;          ///< labels that begin with a zero, in an order that is of texts for these alone
  int64_t respelled = 0;      ///< labels that are other spellings of a number or truth
  std::string spelling = {};  ///< the first of them: ""1.0" of "1""

  /// "text, alphabetical", "numbers, in ascending order".
  std::string order_text() const;
  /// ", some with fractions (--task node_regression for targets)": where labels may be numbers to predict, if
  /// there is an `option` for these; and what was made one class.
  std::string hint(std::string_view option) const;
};

/// The classes of distinct texts.
LabelClasses label_classes(const std::vector<const std::string*>& texts);

/// The distinct labels of a file, numbered by first appearance, and the spellings of missing ones.
class LabelTexts {
 public:
  /// `missing`: texts, or numbers however written, that mean no label besides the empty one and those that
  /// `is_none` says; if there are none of them, or the empty one is among them, instead of these.
  LabelTexts(const std::optional<std::vector<std::string>>& missing, bool (*is_none)(std::string_view));

  /// For note(): "column 3 (label)".
  void set_column(std::string column) { column_ = std::move(column); }
  /// The text's number; -1: missing. In the order of lines.
  int32_t add(std::string_view field, int64_t line);
  const std::vector<const std::string*>& texts() const { return texts_; }  ///< by number; owned here
  /// "; 3 lines taken as unlabelled, in column 3 (label), the first in line 4: 2 of "NA", 1 of "-1"".
  std::string note() const;

 private:
  bool is_none(std::string_view field) const;
  bool is_listed(std::string_view field) const;  // among missing_
  /// What says which of missing_ no line has.
  std::string note_of_absent() const;
  /// What says of "-1" that it is a class, where it may be one beside 1.
  std::string hint_of_signs() const;

  std::vector<std::string> missing_;
  bool (*is_none_)(std::string_view);  // may be null
  std::map<std::string, int32_t, std::less<>> found_;
  std::map<std::string, int64_t, std::less<>> none_;
  std::vector<const std::string*> texts_;
  std::string column_;
  int64_t none_line_ = 0;  // the first of none_
};

/// Whether a label's text means that there is none: empty, is_missing(), or -1.
bool is_missing_label(std::string_view text);

}  // namespace adj
