#include "../support.h"
#include <adjoint/training/chart.h>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
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

TEST_CASE("a legend too long for a line takes two") {
  Chart chart{.title = "long"};
  for (int k = 0; k < 3; ++k) chart.series.push_back({.name = std::string(50, 'x'), .color = "#000000"});
  const std::string text = svg(chart);
  chart.series.resize(1);
  CHECK(mentions(text, "height=\"400"));
  CHECK(mentions(svg(chart), "height=\"422"));
}
