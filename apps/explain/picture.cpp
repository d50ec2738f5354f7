#include "picture.h"

#include <adjoint/training/chart.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>

namespace adj::apps {

namespace {

constexpr double kWidth = 900, kHeight = 700, kTop = 64, kMargin = 70;
constexpr size_t kLongest = 24;  // letters of a label

struct Point {
  double x, y;
};

/// Places in about [0, 1]²: each step moves every node by the springs of its edges and away from all others.
std::vector<Point> layout(size_t count, const std::vector<Picture::Edge>& edges) {
  constexpr int kSteps = 400;
  std::vector<Point> place(count), force(count);
  for (size_t i = 0; i < count; ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count);
    place[i] = {std::cos(angle), std::sin(angle)};
  }
  const double rest = 1.5 / std::sqrt(static_cast<double>(std::max<size_t>(count, 1)));
  const auto push = [&](size_t a, size_t b, bool springs) {
    const double dx = place[a].x - place[b].x, dy = place[a].y - place[b].y,
                 length = std::max(std::hypot(dx, dy), 1e-6);
    const double strength = springs ? -length / rest : rest * rest / (length * length);
    force[a].x += dx * strength;
    force[a].y += dy * strength;
    if (!springs) return;
    force[b].x -= dx * strength;
    force[b].y -= dy * strength;
  };
  for (int step = 0; step < kSteps; ++step) {
    force.assign(count, {0.0, 0.0});
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b)
        if (a != b) push(a, b, false);
      force[a].x -= 0.1 * place[a].x;  // towards the middle, for parts that nothing else holds
      force[a].y -= 0.1 * place[a].y;
    }
    for (const auto& edge : edges)
      if (edge.src != edge.dst) push(static_cast<size_t>(edge.src), static_cast<size_t>(edge.dst), true);
    const double most = 0.1 * (1.0 - static_cast<double>(step) / kSteps);
    for (size_t a = 0; a < count; ++a) {
      const double length = std::max(std::hypot(force[a].x, force[a].y), 1e-9);
      place[a].x += force[a].x / length * std::min(length, most);
      place[a].y += force[a].y / length * std::min(length, most);
    }
  }
  return place;
}

/// Into the picture.
void fit(std::vector<Point>& places) {
  if (places.empty()) return;
  const auto fit_one = [&](double Point::*along, double low, double high) {
    const auto less = [along](const Point& a, const Point& b) { return a.*along < b.*along; };
    const auto [first, last] = std::ranges::minmax_element(places, less);
    const double begin = (*first).*along, extent = (*last).*along - begin;
    for (Point& p : places)
      p.*along = extent > 1e-9 ? low + (p.*along - begin) / extent * (high - low) : 0.5 * (low + high);
  };
  fit_one(&Point::x, kMargin, kWidth - kMargin);
  fit_one(&Point::y, kTop + 30, kHeight - 50);
}

/// One edge for both directions, the one of larger absolute importance.
std::vector<Picture::Edge> joined(const std::vector<Picture::Edge>& edges) {
  std::map<std::pair<int32_t, int32_t>, Picture::Edge> pairs;
  for (const auto& edge : edges) {
    const auto [place, added] = pairs.try_emplace(std::minmax(edge.src, edge.dst), edge);
    if (!added && std::abs(edge.importance) > std::abs(place->second.importance)) place->second = edge;
  }
  std::vector<Picture::Edge> result;
  for (const auto& [pair, edge] : pairs) result.push_back(edge);
  return result;
}

/// From pale grey to blue, or to red below 0.
std::string color(double share, bool negative) {
  const auto mixed = [share](int pale, int full) {
    return static_cast<int>(std::lround(pale + share * (full - pale)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(205, negative ? 178 : 20), mixed(205, negative ? 34 : 70),
                     mixed(205, negative ? 52 : 160));
}

/// At most kLongest letters of UTF-8.
std::string shortened(const std::string& label) {
  size_t letters = 0;
  for (size_t k = 0; k < label.size(); ++k)
    if ((static_cast<unsigned char>(label[k]) & 0xc0) != 0x80 && ++letters > kLongest)
      return label.substr(0, k) + "…";
  return label;
}

std::string line_of(const Picture& picture, const Picture::Edge& edge, double largest,
                    const std::vector<Point>& places) {
  const Point a = places[static_cast<size_t>(edge.src)], b = places[static_cast<size_t>(edge.dst)];
  const double share = largest > 0.0 ? std::abs(edge.importance) / largest : 0.0;
  const std::string style = fmt::format("stroke=\"{}\" stroke-width=\"{:.2f}\" fill=\"none\"",
                                        color(share, edge.importance < 0.0f), 1.0 + 5.0 * share);
  const std::string title = fmt::format(
      "<title>{} – {}: {:.4g}</title>", training::xml_text(picture.labels[static_cast<size_t>(edge.src)]),
      training::xml_text(picture.labels[static_cast<size_t>(edge.dst)]), edge.importance);
  if (edge.src == edge.dst)
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"12\" {}>{}</circle>\n", a.x, a.y - 12, style,
                       title);
  std::string text =
      fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}>{}</line>\n", a.x, a.y,
                  b.x, b.y, style, title);
  if (!picture.directed) return text;
  const double length = std::max(std::hypot(b.x - a.x, b.y - a.y), 1.0), dx = (b.x - a.x) / length,
               dy = (b.y - a.y) / length, x = b.x - 11 * dx, y = b.y - 11 * dy;
  return text + fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}z\" fill=\"{}\"/>\n", x, y,
                            x - 9 * dx - 5 * dy, y - 9 * dy + 5 * dx, x - 9 * dx + 5 * dy,
                            y - 9 * dy - 5 * dx, color(share, edge.importance < 0.0f));
}

}  // namespace

std::string svg(const Picture& picture) {
  std::vector<Picture::Edge> edges = picture.directed ? picture.edges : joined(picture.edges);
  std::vector<Point> places = layout(picture.labels.size(), edges);
  fit(places);
  std::ranges::stable_sort(edges, {}, [](const auto& edge) { return std::abs(edge.importance); });
  const double largest = edges.empty() ? 0.0 : std::abs(edges.back().importance);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<text x=\"24\" y=\"30\" font-size=\"17\" fill=\"#222\">{2}</text>\n"
      "<text x=\"24\" y=\"52\" font-size=\"13\" fill=\"#666\">{3}</text>\n",
      kWidth, kHeight, training::xml_text(picture.title), training::xml_text(picture.note));
  for (const auto& edge : edges) text += line_of(picture, edge, largest, places);
  for (size_t i = 0; i < places.size(); ++i) {
    const bool marked = picture.marked[i];
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"#222\" stroke-width=\"{}\"/>\n",
        places[i].x, places[i].y, marked ? 9 : 6, marked ? "#f28e2b" : "#fff", marked ? 2 : 1);
    if (!picture.named[i]) continue;
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"middle\" fill=\"#222\" "
        "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"{}>{}</text>\n",
        places[i].x, places[i].y + (marked ? 24 : 19), marked ? 14 : 12,
        marked ? " font-weight=\"bold\"" : "", training::xml_text(shortened(picture.labels[i])));
  }
  return text + "</svg>\n";
}

}  // namespace adj::apps
