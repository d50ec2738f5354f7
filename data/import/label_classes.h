#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Classes of labels that are texts.
struct LabelClasses {
  enum class Order : uint8_t { integers, numbers, text };
  Order order = Order::integers;   ///< numeric if all labels are numbers, else of their bytes
  std::vector<std::string> names;  ///< in ascending order; of equal numbers ("1", "01") one
  std::vector<int32_t> class_of;   ///< the class of each text
  bool named = false;              ///< whether the names say more than 0 … C - 1
  bool fractions = false;          ///< whether some are numbers with fractions
};

/// The classes of distinct texts.
LabelClasses label_classes(const std::vector<const std::string*>& texts);

/// Whether a label's text means that there is none: empty, is_missing(), or -1.
bool is_missing_label(std::string_view text);

}  // namespace adj
