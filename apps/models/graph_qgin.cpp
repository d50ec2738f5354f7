#include "../common/graphs.h"
#include "model_options.h"
#include "models.h"

namespace adj::apps {

namespace {

void check(const Settings& s) {
  check_graph_options(s);
  check_quantized_precision(s);
}

}  // namespace

/// That of train_graph_gin, but for bits.
Program train_graph_qgin() {
  Program program = train_graph_gin();
  program.family = models::graph_qgin();
  program.summary =
      "Trains a quantised graph isomorphism network to classify graphs (QGTC, Wang et al. 2022).";
  program.defaults.bits = "8";
  program.options = [](auto add, Settings& s) {
    add_bits_options(add, s);
    add("pool", with_default(s.pool, "WAY"), "what a graph is made of its nodes by: sum, mean or max");
    add_graph_options(add, s);
  };
  program.check = check;
  program.decayed = "all parameters but the scales of quantizers";
  return program;
}

}  // namespace adj::apps
