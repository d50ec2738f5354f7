#include "common.h"
#include "common/links.h"

using namespace adj;
using namespace adj::apps;

namespace {

void check(const Settings& s) {
  if (!(s.val > 0.0 && s.test > 0.0 && s.val + s.test < 1.0))
    throw UsageError(
        fmt::format("--val {} and --test {}: expected shares above 0, below 1 together", s.val, s.test));
  expect_integer("negatives", s.negatives, 1, 10000);
  (void)link_metrics(s);
  if (s.model == "gcn" && s.loader != "none")
    throw UsageError(
        fmt::format("--loader {}: GCN needs the whole graph, expected --model sage or gat", s.loader));
}

}  // namespace

// Embeddings of 64 numbers from a hidden layer of 128, learned without decay, are PyG's example's.
int main(int argc, char** argv) {
  Program program{models::link(),
                  "Trains a model to tell which pairs of nodes an edge joins (link prediction)."};
  program.defaults.weight_decay = 0.0;
  program.defaults.epochs = 100;
  program.loaders = {"neighbor"};
  program.training_options = [](auto add, Settings& s) {
    add("val", with_default(s.val, "P"), "share of the joined pairs of nodes to validate on")(
        "test", with_default(s.test, "P"), "share of them to test on; both are drawn by --seed")(
        "negatives", with_default(s.negatives),
        "pairs without an edge drawn for each joined one, every epoch");
  };
  program.check = check;
  program.things = "pairs of nodes";
  program.examples = link_examples;
  program.epochs = link_epochs;
  program.write_outputs = write_links;
  program.metrics = link_metrics;
  program.metric_help = "auc (auto), mrr or hits@K, as hits@20; all three are reported";
  return train(argc, argv, program);
}
