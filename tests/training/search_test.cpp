#include "../support.h"
#include <adjoint/training/search/search.h>
#include <adjoint/training/search/tpe.h>

#include <cmath>
#include <numeric>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

// Searches of options: Optuna's densities, a plain loop of successive halving, and whether a search finds
// more.

namespace {

using Kind = Parameter::Kind;

Parameter real(const std::string& name, double low, double high, bool log = false) {
  return {.name = name, .kind = Kind::real, .low = low, .high = high, .log = log};
}
Parameter integer(const std::string& name, double low, double high, bool log = false, double step = 1.0) {
  return {.name = name, .kind = Kind::integer, .low = low, .high = high, .log = log, .step = step};
}
Parameter choice(const std::string& name, std::vector<std::string> choices) {
  return {.name = name, .choices = std::move(choices)};
}

std::vector<double> forty() {
  std::vector<double> values;
  for (int k = 0; k < 40; ++k)
    values.push_back(std::round(1000.0 * (4.0 * std::fmod(k * 0.618, 1.0) - 1.0)) / 1000.0);
  return values;
}

/// Uneven, in conditional parameters too; the least is 0 for "b", 0.02, 0.7 and 12.
double distance(const Assignment& a) {
  const double rate = std::log10(*a[1] / 0.02), width = (*a[3] - 12.0) / 20.0;
  return (*a[0] == 1.0 ? 0.0 : 0.5) + rate * rate + (a[2] ? (*a[2] - 0.7) * (*a[2] - 0.7) : 0.3) +
         width * width;
}
std::vector<Parameter> four() {
  std::vector<Parameter> space{choice("kind", {"a", "b", "c"}), real("lr", 1e-4, 1.0, true),
                               real("p", 0.0, 1.0), integer("width", 1, 64)};
  space[2].when = {{0, {1, 2}}};
  return space;
}

std::vector<SearchTrial> searched(const Search& search) {
  std::vector<SearchTrial> trials;
  for (auto tasks = search.next(trials); !tasks.empty(); tasks = search.next(trials))
    for (const SearchTask& task : tasks)
      trials[task.trial].scores.push_back(distance(trials[task.trial].values));
  return trials;
}

/// The mean over 20 seeds of the logarithm of the best distance.
double mean_best(SearchMethod method, size_t generation) {
  double sum = 0.0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    double best = kFailed;
    for (const SearchTrial& trial :
         searched({.method = method, .space = four(), .seed = seed, .trials = 60, .generation = generation}))
      best = std::min(best, trial.scores[0]);
    sum += std::log(best);
  }
  return sum / 20.0;
}

}  // namespace

TEST_CASE("densities are those of Optuna 5.0 (TPESampler(multivariate=False), _ParzenEstimator.log_pdf)") {
  const struct {
    Parameter parameter;
    std::vector<double> observations, values, expected;
  } cases[] = {
      {real("x", -1, 3),
       {},
       {-1.0, -0.5, 0.3, 2.9, 3.0},
       {-1.470316560628941, -1.415629060628941, -1.3606290606289408, -1.458129060628941, -1.470316560628941}},
      {real("x", -1, 3),
       {1.203},
       {-1.0, -0.5, 0.3, 2.9, 3.0},
       {-1.6017322422262354, -1.4814273215205174, -1.3487832489246347, -1.5028954350958958,
        -1.5263718645850624}},
      {real("x", -1, 3),
       {1.833, 0.164, 1.043, 2.572, 2.585},
       {-1.0, -0.5, 0.3, 2.9, 3.0},
       {-2.5463054031434895, -2.112392176001676, -1.638416123095159, -1.114740899912492,
        -1.2100828222955204}},
      {real("x", -1, 3),
       forty(),
       {-1.0, 0.3, 2.9},
       {-1.4199542234187548, -1.5446818183344926, -1.668280677241282}},
      {real("x", 1e-4, 0.1, true),
       {0.001, 0.05, 0.0007, 0.01},
       {0.0001, 0.0009, 0.03, 0.1},
       {-2.5840185517930783, -1.7681205906557422, -1.8860342118171154, -2.0729477612325615}},
      {integer("n", 2, 9),
       {3, 3, 8},
       {2, 3, 5, 9},
       {-1.916227090574221, -1.7915680620809833, -2.005709971933707, -2.4562324317918995}},
      {integer("n", 16, 128, false, 16),
       {32, 112, 48, 48, 128},
       {16, 48, 96, 128},
       {-2.221600200316873, -1.8048338907481365, -2.4067563317651635, -1.946584326134476}},
      {integer("n", 1, 256, true),
       {4, 64, 5, 200},
       {1, 4, 30, 256},
       {-2.1845992438935493, -3.10561198189288, -5.289200445460944, -7.162101707122577}},
      {choice("c", {"a", "b", "c"}),
       {0, 2, 2, 2},
       {0, 1, 2},
       {-1.2321436812926323, -1.7917594692280545, -0.6131044728864088}},
      {choice("c", {"a", "b", "c"}),
       {},
       {0, 1, 2},
       {-1.0986122886681098, -1.0986122886681098, -1.0986122886681098}},
      {real("x", 0, 1),
       {0.5, 0.5, 0.5},
       {0.1, 0.5, 0.9},
       {-0.8086824416992262, 0.5739717777075346, -0.8086824416992262}}};
  for (const auto& c : cases) {
    const ParzenEstimator estimator(c.parameter, c.observations);
    for (size_t k = 0; k < c.values.size(); ++k) {
      CAPTURES(c.parameter.name, c.observations.size(), c.values[k]);
      CHECK(estimator.log_density(c.values[k]) == doctest::Approx(c.expected[k]).epsilon(1e-12));
    }
  }
}

TEST_CASE("samples have the density that is evaluated") {
  for (const Parameter& parameter : {integer("n", 2, 9), integer("n", 1, 12, true),
                                     integer("n", 0, 30, false, 5), choice("c", {"a", "b", "c"})}) {
    const std::vector<double> values = parameter.grid();
    const ParzenEstimator estimator(parameter, {values[1], values[1], values[2]});
    std::map<double, double> counts;
    Draws draws(7, 0, 0);
    constexpr double kCount = 20000.0;
    for (int k = 0; k < 20000; ++k) ++counts[estimator.sample(draws)];
    double whole = 0.0, chi = 0.0;
    for (const double value : values) {
      const double expected = kCount * std::exp(estimator.log_density(value));
      whole += expected;
      chi += (counts[value] - expected) * (counts[value] - expected) / expected;
    }
    CAPTURE(values.size());
    CHECK(whole == doctest::Approx(kCount));
    CHECK(chi < 35.0);  // of at most 11 degrees of freedom: p < 0.001
  }
  // A number of a range has the density's share of each quarter.
  const Parameter x = real("x", 0.001, 10.0, true);
  const ParzenEstimator estimator(x, {0.01, 0.02, 3.0});
  Draws draws(8, 0, 0);
  const auto [low, high] = x.interval();
  std::array<double, 4> counts{}, shares{};
  for (int k = 0; k < 20000; ++k)
    counts[std::min<size_t>(3, static_cast<size_t>(4.0 * (std::log(estimator.sample(draws)) - low) /
                                                   (high - low)))] += 1.0 / 20000.0;
  for (int k = 0; k < 4000; ++k)
    shares[static_cast<size_t>(k / 1000)] +=
        (high - low) / 4000.0 *
        std::exp(estimator.log_density(std::exp(low + (high - low) * (k + 0.5) / 4000.0)));
  for (size_t k = 0; k < 4; ++k) CHECK(counts[k] == doctest::Approx(shares[k]).epsilon(0.05));
}

TEST_CASE("a suggestion is the best of 24 draws by the ratio of the densities of a tenth and the others") {
  const std::vector<Parameter> space{real("x", 0.0, 1.0)};
  std::vector<Assignment> values;
  std::vector<Observation> observations;
  for (int k = 0; k < 23; ++k) values.push_back({std::fmod(k * 0.37, 1.0)});
  const auto score = [](double x) { return std::abs(x - 0.3); };
  for (const Assignment& one : values) observations.push_back({&one, score(*one[0])});
  std::vector<double> scores, good, others;  // ceil(2.3) = 3 good ones
  for (const Observation& one : observations) scores.push_back(one.score);
  std::sort(scores.begin(), scores.end());
  for (const Observation& one : observations)
    (one.score <= scores[2] ? good : others).push_back(*(*one.values)[0]);
  REQUIRE(good.size() == 3);
  const std::vector<Assignment> pending{{0.31}, {0.9}};  // Optuna's constant_liar
  others.insert(others.end(), {0.31, 0.9});
  const ParzenEstimator first(space[0], good), second(space[0], others);
  for (size_t trial = 0; trial < 5; ++trial) {
    Draws draws(4, trial, 0);
    double best = 0.0, highest = -kFailed;
    for (int k = 0; k < 24; ++k) {
      const double x = first.sample(draws), ratio = first.log_density(x) - second.log_density(x);
      if (ratio > highest) best = x, highest = ratio;
    }
    CHECK(tpe_assignment(space, observations, pending, 4, trial)[0] == best);
  }
}

TEST_CASE("TPE finds more than random search at the same number of trials") {
  const double random = mean_best(SearchMethod::random, 1), one = mean_best(SearchMethod::tpe, 1),
               eight = mean_best(SearchMethod::tpe, 8);
  MESSAGE("ln of the best: random " << random << ", TPE " << one << ", by eight " << eight);
  CHECK(one < random - 1.0);
  CHECK(eight < random - 0.7);
  for (const SearchTrial& trial :
       searched({.method = SearchMethod::tpe, .space = four(), .seed = 3, .trials = 60}))
    CHECK(trial.values[2].has_value() == (*trial.values[0] != 0.0));
}

TEST_CASE("a grid is in order, without parameters that are not active") {
  std::vector<Parameter> space{choice("o", {"adam", "sgd"}), real("lr", 0.01, 1.0, true),
                               real("m", 0.0, 0.9)};
  space[1].points = 3;
  space[2].points = 2;
  space[2].when = {{0, {1}}};
  std::vector<std::string> lines;
  for (const Assignment& values : grid_of(space)) {
    lines.emplace_back();
    for (size_t k = 0; k < space.size(); ++k)
      lines.back() += (values[k] ? space[k].text(*values[k]) : "-") + " ";
  }
  CHECK(lines == std::vector<std::string>{"adam 0.01 - ", "adam 0.1 - ", "adam 1 - ", "sgd 0.01 0 ",
                                          "sgd 0.01 0.9 ", "sgd 0.1 0 ", "sgd 0.1 0.9 ", "sgd 1 0 ",
                                          "sgd 1 0.9 "});
  CHECK(integer("n", 2, 11, false, 3).grid() == std::vector<double>{2, 5, 8, 11});
}

TEST_CASE("halving promotes as algorithm 2 of Li et al. 2020, one task after the other") {
  constexpr size_t kTrials = 30, kRungs = 4, kReduction = 3;
  Draws draws(5, 0, 0);
  std::vector<std::vector<double>> losses(kTrials);
  for (auto& trial : losses)
    for (size_t rung = 0; rung < kRungs; ++rung)
      trial.push_back(draws.below(9) == 0 ? kFailed : draws.uniform());
  const Search search{.method = SearchMethod::asha,
                      .space = {real("x", 0, 1)},
                      .trials = kTrials,
                      .generation = 1,
                      .rungs = kRungs,
                      .reduction = kReduction};
  std::vector<SearchTrial> trials;
  std::vector<std::vector<size_t>> done(kRungs);  // trials after each rung
  std::vector<std::set<size_t>> promoted(kRungs);
  size_t count = 0;
  for (auto tasks = search.next(trials); !tasks.empty(); tasks = search.next(trials), ++count) {
    REQUIRE(tasks.size() == 1);
    size_t trial = count, rung = 0;
    bool found = false;
    for (size_t k = kRungs - 1; k-- > 0 && !found;) {  // get_job()
      std::vector<std::pair<double, size_t>> top;
      for (const size_t one : done[k]) top.emplace_back(losses[one][k], one);
      std::sort(top.begin(), top.end());
      top.resize(top.size() / kReduction);
      for (const auto& [loss, one] : top) {
        if (found || promoted[k].contains(one) || loss == kFailed) continue;
        found = true;
        trial = one;
        rung = k + 1;
        promoted[k].insert(one);
      }
    }
    if (!found) trial = done[0].size();
    CHECK(tasks[0].trial == trial);
    CHECK(tasks[0].rung == rung);
    done[rung].push_back(trial);
    trials[tasks[0].trial].scores.push_back(losses[tasks[0].trial][tasks[0].rung]);
  }
  CHECK(trials.size() == kTrials);
  CHECK(promoted[2].size() > 0);
  CHECK(count == done[0].size() + done[1].size() + done[2].size() + done[3].size());
}
