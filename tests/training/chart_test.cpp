#include "../support.h"
#include <adjoint/training/chart.h>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t position = text.find(part); position != std::string::npos;
       position = text.find(part, position + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a chart has ticks at round numbers, curves through their points, and a legend of named series") {
  const Chart chart{.title = "a < b & \"c\"\n",
                    .x = {"epoch", 0.0, 10.0},
                    .left = {"loss", 0.0, 2.0},
                    .right = Axis{"accuracy", 0.0, 1.0},
                    .series = {{.name = "first", .color = "#111111", .points = {{0.0, 0.0}, {10.0, 2.0}}},
                               {.color = "#222222", .form = Series::Form::faint, .points = {{5.0, 1.0}}},
                               {.name = "marks",
                                .color = "#333333",
                                .form = Series::Form::dots,
                                .points = {{5.0, 0.5}, {10.0, 1.0}},
                                .right = true}}};
  const std::string text = svg(chart);
  CHECK(mentions(text, {"<title>a &lt; b &amp; &quot;c&quot;\\n</title>", ">epoch</text>", ">loss</text>",
                        ">accuracy</text>", ">first</text>", ">marks</text>", ">1.8</text>", ">2</text>"}));
  // 748 wide, and from 466 to 44 with one row of the legend; y grows downwards.
  CHECK(mentions(
      text, {"points=\"0.0,422.0 748.0,0.0 \"", "points=\"374.0,211.0 \"", "cx=\"374.0\" cy=\"211.0\""}));
  CHECK(count_of(text, "<polyline") == 2);
  CHECK(count_of(text, "<circle") == 3);  // two points, and the legend
  CHECK(count_of(text, "<svg") == 2);     // the inner one cuts off
  CHECK(count_of(text, "</svg>") == 2);
}

TEST_CASE("a logarithmic axis has powers of ten, and omits numbers that are not positive") {
  Chart chart{.title = "log", .x = {"degree", 0.5, 2000.0, true}, .left = {"share", 1e-6, 1.0, true}};
  chart.series = {{.name = "d", .color = "#000000", .points = {{0.0, 0.1}, {1.0, 0.0}, {1000.0, 1e-6}}}};
  const std::string text = svg(chart);
  CHECK(mentions(text, {">1e-06</text>", ">0.01</text>", ">1000</text>"}));
  CHECK(mentions(text, "points=\"685.5,422.0 \""));
  CHECK(count_of(text, "nan") + count_of(text, "inf") == 0);
}

TEST_CASE("ticks are at 1, 2 or 5 times a power of ten, some six; of many powers only at some of them") {
  const auto ticks = [](double low, double high, bool logarithmic) {
    Chart chart{.title = "", .x = {"x", low, high, logarithmic}, .left = {"y", 0.0, 1.0}};
    std::vector<std::string> found;
    const std::string text = svg(chart), begin = " y=\"484.0\" text-anchor=\"middle\">";  // below the axis
    for (size_t position = text.find(begin); position != std::string::npos;
         position = text.find(begin, position + 1))
      found.push_back(
          text.substr(position + begin.size(), text.find('<', position) - position - begin.size()));
    return found;
  };
  using T = std::vector<std::string>;
  CHECK(ticks(0, 10, false) == T{"0", "2", "4", "6", "8", "10"});
  CHECK(ticks(0, 8.9, false) == T{"0", "1", "2", "3", "4", "5", "6", "7", "8"});  // 8.9 / 6 is below 1.5
  CHECK(ticks(0, 9.1, false) == T{"0", "2", "4", "6", "8"});
  CHECK(ticks(0, 20.9, false).back() == "20");
  CHECK(ticks(0, 21.1, false) == T{"0", "5", "10", "15", "20"});
  CHECK(ticks(0, 44.9, false).size() == 9);
  CHECK(ticks(0, 45.1, false) == T{"0", "10", "20", "30", "40"});
  CHECK(ticks(-0.25, 0.35, false) == T{"-0.2", "-0.1", "0", "0.1", "0.2", "0.3"});
  CHECK(ticks(1, 500, true) == T{"1", "2", "5", "10", "20", "50", "100", "200", "500"});
  CHECK(ticks(0.3, 2, true) == T{"0.5", "1", "2"});
  CHECK(ticks(1, 9999, true).size() == 12);
  CHECK(ticks(1, 10000, true) == T{"1", "10", "100", "1000", "10000"});
  CHECK(ticks(1e-10, 1e10, true) == T{"1e-10", "1e-07", "0.0001", "0.1", "100", "100000", "1e+08"});
}

TEST_CASE("a chart's title, axes, grid, legend and marks have their places") {
  const auto has = [](const Chart& chart, const std::vector<std::string>& parts) {
    CHECK(mentions(svg(chart), parts));
  };
  // One row of the legend: the axes end at 540 - 52 - 22 = 466, 422 high, and are 900 - 2 * 76 = 748 wide.
  Chart chart{.title = "T", .x = {"X", 0.0, 4.0}, .left = {"L", 0.0, 2.0}};
  chart.series = {
      {.name = "line", .color = "#111111", .points = {{1.0, 0.5}}},
      {.name = "faint", .color = "#222222", .form = Series::Form::faint},
      {.name = "dots", .color = "#333333", .form = Series::Form::dots, .points = {{1.0, 0.5}}},
      {.name = "diamonds", .color = "#444444", .form = Series::Form::diamonds, .points = {{1.0, 0.5}}},
      {.name = "marked", .color = "#555555", .form = Series::Form::marked, .points = {{1.0, 0.5}}}};
  has(chart,
      {"viewBox=\"0 0 900 540\" width=\"900\" height=\"540\"",
       "<text x=\"450.0\" y=\"26.0\" text-anchor=\"middle\" font-weight=\"600\">T</text>",
       "<line x1=\"263.0\" y1=\"44.0\" x2=\"263.0\" y2=\"466.0\" class=\"grid\" stroke=\"#ddd\"/>",
       "<text x=\"263.0\" y=\"484.0\" text-anchor=\"middle\">1</text>",
       "<line x1=\"76.0\" y1=\"381.6\" x2=\"824.0\" y2=\"381.6\" class=\"grid\" stroke=\"#ddd\"/>",
       "<text x=\"68.0\" y=\"386.6\" text-anchor=\"end\">0.4</text>",
       "<text x=\"20.0\" y=\"255.0\" text-anchor=\"middle\" transform=\"rotate(-90 20.0 255.0)\">L</text>",
       "<text x=\"450.0\" y=\"506.0\" text-anchor=\"middle\">X</text>",
       "<svg x=\"76\" y=\"44\" width=\"748\" height=\"422\" viewBox=\"0 0 748 422\" fill=\"none\">",
       "<polyline points=\"187.0,316.5 \" stroke=\"#111111\" stroke-width=\"2\"/>",
       "stroke=\"#222222\" stroke-width=\"1\" opacity=\"0.35\"/>",
       "<circle cx=\"187.0\" cy=\"316.5\" r=\"4\" fill=\"#333333\" stroke=\"#fff\" class=\"rim\"/>",
       "<path d=\"M187.0 310.5l6 6l-6 6l-6 -6z\" fill=\"#444444\" stroke=\"#fff\" class=\"rim\"/>",
       "<rect x=\"76\" y=\"44\" width=\"748\" height=\"422\" fill=\"none\" class=\"grid\" stroke=\"#ddd\"/>",
       // The legend: 48 and 7.4 a letter beside each other.
       "<line x1=\"40.0\" y1=\"528.0\" x2=\"66.0\" y2=\"528.0\" stroke=\"#111111\" stroke-width=\"2\"/>",
       "<text x=\"72.0\" y=\"533.0\" text-anchor=\"start\">line</text>",
       "<text x=\"149.6\" y=\"533.0\" text-anchor=\"start\">faint</text>",
       "<circle cx=\"215.6\" cy=\"528.0\" r=\"4\" fill=\"#333333\""});
  const std::string text = svg(chart);
  CHECK(count_of(text, "<polyline") == 3);  // line, faint and marked
  CHECK(count_of(text, "#333333") == 2);    // no line in the legend either
  CHECK(count_of(text, "#444444") == 2);
  CHECK(count_of(text, "#555555") == 4);
  chart.right = Axis{"R", 0.0, 3.0};  // whose lines the grid has then
  chart.series[0].right = true;
  has(chart,
      {"<text x=\"832.0\" y=\"400.7\" text-anchor=\"start\">0.5</text>",
       "<text x=\"886.0\" y=\"255.0\" text-anchor=\"middle\" transform=\"rotate(-90 886.0 255.0)\">R</text>",
       "points=\"187.0,351.7 \""});
  CHECK(svg(chart).find("y1=\"381.6\"") == std::string::npos);
  CHECK(mentions(svg(chart), "<line x1=\"76.0\" y1=\"395.7\" x2=\"824.0\""));
  // Numbers of a logarithmic axis are halfway in logarithms.
  chart.right.reset();
  chart.left = {"L", 1.0, 100.0, true};
  chart.series.resize(1);
  chart.series[0].points = {{4.0, 10.0}};
  has(chart, {"points=\"748.0,211.0 \"", ">20</text>"});
}

TEST_CASE("a legend too long for a line takes two") {
  Chart chart{.title = "long"};
  for (int k = 0; k < 3; ++k) chart.series.push_back({.name = std::string(50, 'x'), .color = "#000000"});
  const std::string text = svg(chart);
  chart.series.resize(1);
  CHECK(mentions(text, "height=\"400"));
  CHECK(mentions(svg(chart), "height=\"422"));
}
