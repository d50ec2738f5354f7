#include "batch_options.h"

#include "feature_place.h"
#include <adjoint/graph/sample/saint_sampler.h>

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

namespace adj::apps {

namespace po = boost::program_options;

namespace {

template <class... Args>
[[noreturn]] void usage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

constexpr int64_t kMany = 1'000'000'000;

/// Is this one of the program's loaders?
bool has_loader(const Program& program, const std::string& name) {
  return std::find(program.loaders.begin(), program.loaders.end(), name) != program.loaders.end();
}

}  // namespace

void add_batch_options(const Program& program, po::options_description& options, Settings& s) {
  if (program.loaders.empty()) return;
  options.add_options()(
      "loader", with_default(s.loader, "NAME"),
      fmt::format("what a step is over: {}; none: the whole graph", fmt::join(program.loaders, ", "))
          .c_str())("workers", with_default(s.workers, "N"), kWorkersHelp);
  if (has_loader(program, "neighbor"))  // then its model can also be evaluated layer by layer
    options.add_options()(
        "evaluation", with_default(s.evaluation, "WAY"),
        "layers (of all nodes layer by layer, in batches with all neighbours) or graph (all at once)")(
        "batch-size", with_default(s.batch_size, "N"),
        fmt::format("nodes that a layer is evaluated for at once; with neighbor training {} of a step",
                    program.things)
            .c_str())(
        "fanouts", with_default(s.fanouts, "LIST"),
        "neighbor: in-edges that a node keeps of each hop, from the training nodes outwards, as 15,10,5 "
        "(-1: all); one number stands for every layer")("replace", po::bool_switch(&s.replace),
                                                        "neighbor: draw them with replacement")(
        "labor", po::bool_switch(&s.labor),
        "neighbor: draw them by LABOR: the same ones for nodes with common neighbours")(
        "weighted-sampling", po::bool_switch(&s.weighted_sampling),
        "neighbor: draw them in proportion to the edges' weights");
  if (has_loader(program, "neighbor")) add_feature_options(options, s);
  if (has_loader(program, "cluster"))
    options.add_options()("parts", with_default(s.parts, "N"),
                          "cluster: METIS makes so many (0: the dataset's own nodes/part, else parts of some "
                          "hundred nodes)")("parts-per-batch", with_default(s.parts_per_batch, "N"),
                                            "cluster: parts of a step, at most");
  if (has_loader(program, "saint"))
    options.add_options()("saint", with_default(s.saint, "NAME"),
                          "saint: subgraphs are drawn by node, edge or walk")(
        "budget", with_default(s.budget, "N"), "saint: nodes, edges or roots of walks that are drawn")(
        "walk-length", with_default(s.walk_length, "N"), "saint: steps of a walk")(
        "steps", with_default(s.steps, "N"),
        "saint: subgraphs of an epoch (0: as many as draw as many nodes as there are)")(
        "coverage", with_default(s.coverage, "N"),
        "saint: normalise by subgraphs that hold so many times all nodes (0: do not normalise)");
}

void check_batch_options(const Program& program, const Settings& s, const Settings& usual) {
  if (program.loaders.empty()) return;
  std::vector<std::string> loaders = program.loaders;
  loaders.insert(loaders.begin(), "none");
  expect_one_of("loader", s.loader, loaders);
  expect_integer("batch-size", s.batch_size, 1, kMany);
  (void)num_workers(s);
  expect_one_of("evaluation", s.evaluation, {"layers", "graph"});
  expect_integer("parts", s.parts, 0, kMany);
  expect_integer("parts-per-batch", s.parts_per_batch, 1, kMany);
  expect_one_of("saint", s.saint, {"node", "edge", "walk"});
  constexpr int64_t kMostDrawn = SaintSampling::kMostDrawn;
  expect_integer("budget", s.budget, 1, kMostDrawn);
  expect_integer("walk-length", s.walk_length, 0, kMostDrawn - 1);
  const int64_t a_draw = s.saint == "node" ? 1 : s.saint == "edge" ? 2 : s.walk_length + 1;
  if (s.budget > kMostDrawn / a_draw)
    usage("--budget {}: of {} nodes each, expected {} nodes of a subgraph at most", s.budget, a_draw,
          kMostDrawn);
  expect_integer("steps", s.steps, 0, kMany);
  expect_integer("coverage", s.coverage, 0, 1'000'000);
  const struct {
    const char *name, *loader;  // "": any
    bool given;
  } options[] = {{"fanouts", "neighbor", s.fanouts != usual.fanouts},
                 {"replace", "neighbor", s.replace},
                 {"labor", "neighbor", s.labor},
                 {"weighted-sampling", "neighbor", s.weighted_sampling},
                 {"features", "", s.features != usual.features},
                 {"cached-rows", "", s.cached_rows != usual.cached_rows},
                 {"parts", "cluster", s.parts != usual.parts},
                 {"parts-per-batch", "cluster", s.parts_per_batch != usual.parts_per_batch},
                 {"saint", "saint", s.saint != usual.saint},
                 {"budget", "saint", s.budget != usual.budget},
                 {"walk-length", "saint", s.walk_length != usual.walk_length},
                 {"steps", "saint", s.steps != usual.steps},
                 {"coverage", "saint", s.coverage != usual.coverage},
                 {"batch-size", "", s.batch_size != usual.batch_size},
                 {"evaluation", "", s.evaluation != usual.evaluation}};
  for (const auto& option : options) {
    const bool fits = *option.loader == 0 ? s.loader != "none" : s.loader == option.loader;
    if (option.given && !fits)
      usage("--{}: expected --loader {} beside it", option.name,
            *option.loader == 0 ? fmt::format("{}", fmt::join(program.loaders, " or ")) : option.loader);
  }
  if (s.walk_length != usual.walk_length && s.saint != "walk")
    usage("--walk-length: expected --saint walk beside it");
  if (s.loader == "none") return;
  if (s.loader == "neighbor") (void)fanouts_of(s);
  check_feature_options(s);
  if (s.inductive)
    usage("--inductive: does not go with --loader {}, for the graph that is sampled is kept", s.loader);
  if (s.labor && (s.replace || s.weighted_sampling))
    usage("--labor: does not go with --{}", s.replace ? "replace" : "weighted-sampling");
}

std::vector<int64_t> fanouts_of(const std::string& text) {
  std::vector<int64_t> fanouts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    if (error != std::errc{} || stop != text.data() + end || number > kMany || (number < 1 && number != -1))
      usage("--fanouts: expected numbers of 1 or more, or -1, as 15,10,5; got '{}'", text);
    fanouts.push_back(number);
    begin = end + 1;
  }
  return fanouts;
}

std::vector<int64_t> fanouts_of(const Settings& s) {
  std::vector<int64_t> fanouts = fanouts_of(s.fanouts);
  if (fanouts.size() == 1) fanouts.resize(static_cast<size_t>(s.layers), fanouts.front());
  if (std::ssize(fanouts) != s.layers)
    usage("--fanouts: {} numbers, expected one, or one for each of {} layers", fanouts.size(), s.layers);
  return fanouts;
}

}  // namespace adj::apps
