#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/training/chart.h>

#include <cmath>
#include <iterator>
#include <map>

namespace adj::training {

namespace {

constexpr double kWidth = 900, kHeight = 540, kTop = 44, kSide = 76, kLegendLine = 22;
constexpr double kLetter = 7.4;  // as wide as a letter of 14 is on average

struct Tick {
  double value;
  std::string text;
};

/// At 1, 2 or 5 times a power of ten, some six; on a logarithmic axis too, over many powers only at powers.
std::vector<Tick> ticks_of(const Axis& axis) {
  std::vector<Tick> ticks;
  if (axis.logarithmic) {
    const double first = std::floor(std::log10(axis.low)), last = std::floor(std::log10(axis.high));
    const double step = std::max(1.0, std::ceil((last - first) / 8.0));
    for (double power = first; power <= last; power += step)
      for (const double times : {1.0, 2.0, 5.0}) {
        const double value = times * std::pow(10.0, power);
        if (value < axis.low || value > axis.high || (times > 1.0 && last - first > 3.0)) continue;
        ticks.push_back({value, fmt::format("{:g}", value)});
      }
    return ticks;
  }
  const double rough = (axis.high - axis.low) / 6.0, unit = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = unit * (rough < 1.5 * unit   ? 1.0
                              : rough < 3.5 * unit ? 2.0
                              : rough < 7.5 * unit ? 5.0
                                                   : 10.0);
  for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high + 1e-9 * step; ++k)
    ticks.push_back({k * step, fmt::format("{:.6g}", k == 0.0 ? 0.0 : k * step)});
  return ticks;
}

/// Position in [0, 1] along the axis.
double share(const Axis& axis, double value) {
  if (!axis.logarithmic) return (value - axis.low) / (axis.high - axis.low);
  return std::log(value / axis.low) / std::log(axis.high / axis.low);
}

std::string text(double x, double y, const char* anchor, std::string_view words, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     xml_text(words));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2,
                     style);
}

std::string mark(Series::Form form, double x, double y, const std::string& color) {
  if (form == Series::Form::diamonds)
    return fmt::format(
        "<path d=\"M{:.1f} {:.1f}l6 6l-6 6l-6 -6z\" fill=\"{}\" stroke=\"#fff\" class=\"rim\"/>\n", x, y - 6,
        color);
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"#fff\" class=\"rim\"/>\n", x, y,
      color);
}

std::string stroke(const Series& s) {
  const bool faint = s.form == Series::Form::faint;
  return fmt::format("stroke=\"{}\" stroke-width=\"{}\"{}", s.color, faint ? 1 : 2,
                     faint ? " opacity=\"0.35\"" : "");
}

bool has_line(Series::Form form) { return form != Series::Form::dots && form != Series::Form::diamonds; }
bool has_marks(Series::Form form) { return form != Series::Form::line && form != Series::Form::faint; }

}  // namespace

std::string xml_text(std::string_view words) {
  static const std::map<char, const char*> kNamed{
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string escaped;
  for (const char c : printable(words)) {
    const auto named = kNamed.find(c);
    named == kNamed.end() ? escaped += c : escaped += named->second;
  }
  return escaped;
}

std::string svg(const Chart& chart) {
  // The legend, rows of what fits side by side.
  std::vector<std::pair<double, double>> places;  // x, and the row
  double x = 0.0, rows = 0.0;
  for (const Series& s : chart.series) {
    const double wide = kLetter * static_cast<double>(s.name.size()) + 48.0;
    if (x > 0.0 && x + wide > kWidth - 60.0) x = 0.0, ++rows;
    places.emplace_back(x, rows);
    if (!s.name.empty()) x += wide;
  }
  const double bottom = kHeight - 52.0 - kLegendLine * (rows + 1.0), wide = kWidth - 2.0 * kSide,
               high = bottom - kTop;

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\" font-family=\"sans-serif\" font-size=\"14\" fill=\"#222\">\n<title>{2}</title>\n"
      "<rect class=\"paper\" width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      kWidth, kHeight, xml_text(chart.title));
  out += text(kWidth / 2, 26, "middle", chart.title, " font-weight=\"600\"");
  const std::string grid = "class=\"grid\" stroke=\"#ddd\"";
  for (const Tick& tick : ticks_of(chart.x)) {
    const double tick_x = kSide + wide * share(chart.x, tick.value);
    out += line(tick_x, kTop, tick_x, bottom, grid) + text(tick_x, bottom + 18, "middle", tick.text);
  }
  for (const bool right : {false, true}) {
    if (right && !chart.right) break;
    const Axis& axis = right ? *chart.right : chart.left;
    const double side = right ? kSide + wide : kSide;
    for (const Tick& tick : ticks_of(axis)) {
      const double tick_y = bottom - high * share(axis, tick.value);
      out += right == chart.right.has_value() ? line(kSide, tick_y, kSide + wide, tick_y, grid) : "";
      out += text(side + (right ? 8 : -8), tick_y + 5, right ? "start" : "end", tick.text);
    }
    const double name_x = right ? kWidth - 14 : 20;
    out += text(name_x, (kTop + bottom) / 2, "middle", axis.name,
                fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", name_x, (kTop + bottom) / 2).c_str());
  }
  out += text(kWidth / 2, bottom + 40, "middle", chart.x.name);

  out += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"0 0 {2} {3}\" fill=\"none\">\n", kSide,
      kTop, wide, high);
  for (const Series& s : chart.series) {
    std::string points, marks;
    for (const auto& [px, py] : s.points) {
      const Axis& axis = s.right && chart.right ? *chart.right : chart.left;
      const double at_x = wide * share(chart.x, px), at_y = high * (1.0 - share(axis, py));
      if (!std::isfinite(at_x) || !std::isfinite(at_y)) continue;  // what a logarithmic axis has no place for
      fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", at_x, at_y);
      if (has_marks(s.form)) marks += mark(s.form, at_x, at_y, s.color);
    }
    if (has_line(s.form)) out += fmt::format("<polyline points=\"{}\" {}/>\n", points, stroke(s));
    out += marks;
  }
  out += fmt::format("</svg>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" {}/>\n", kSide,
                     kTop, wide, high, grid);
  for (size_t k = 0; k < places.size(); ++k) {
    const Series& s = chart.series[k];
    if (s.name.empty()) continue;
    const double key_x = 40.0 + places[k].first, y = bottom + 62.0 + kLegendLine * places[k].second;
    if (has_line(s.form)) out += line(key_x, y, key_x + 26, y, stroke(s));
    if (has_marks(s.form)) out += mark(s.form, key_x + 13, y, s.color);
    out += text(key_x + 32, y + 5, "start", s.name);
  }
  return out + "</svg>\n";
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return text + "</tr>\n";
}

}  // namespace adj::training
