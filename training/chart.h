#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj::training {

/// An axis from `low` to `high`, labelled with its `name`; `logarithmic`: equal factors have equal lengths.
struct Axis {
  std::string name = {};
  double low = 0.0, high = 1.0;  ///< low < high; 0 < low where it is logarithmic
  bool logarithmic = false;
};

/// `points` (x, y), joined in order if `form` has a line. A logarithmic axis leaves out those not above 0.
struct Series {
  /// A line, a pale one, one with dots; or only marks.
  enum class Form { line, faint, marked, dots, diamonds };
  std::string name = {};  ///< in the legend; empty: not in it
  std::string color;      ///< "#4477aa"
  Form form = Form::line;
  std::vector<std::pair<double, double>> points = {};
  bool right = false;  ///< by the right axis
};

/// `series` over the axis `x`, by the axis `left` or, if present, `right`, under a `title`.
struct Chart {
  std::string title;
  Axis x = {}, left = {};
  std::optional<Axis> right = {};
  std::vector<Series> series = {};
};

/// The chart as an SVG element of 900 x 540, complete as a file and as a part of a page, whose style sheet
/// may give others of its colours to text, .paper (fill), .rim (stroke) and .grid (stroke). Points beyond the
/// axes are clipped.
std::string svg(const Chart& chart);

/// `text` as XML and HTML show it, printable (core/text.h), on one line.
std::string xml_text(std::string_view text);

/// A row of an HTML table; `tag` of the cells: "td" or "th".
std::string table_row(const std::vector<std::string>& cells, const char* tag = "td");

}  // namespace adj::training
