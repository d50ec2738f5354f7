#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

// As in PyG's example: hidden width 128, embeddings of width 64, no weight decay.
int main(int argc, char** argv) {
  Options options(models::link(), "Trains a model for link prediction.");
  options.run.weight_decay = 0.0;
  options.run.epochs = 100;
  LinkOptions links;
  links.add_to(options);

  return run_program(options.program(), [&] {
    const auto settings = apps::read_command_line(argc, argv, options);
    if (!settings) return;
    links.check(*settings);
    const std::vector<Metric> metrics = link_metrics(settings->data.metric);
    settings->apply();
    Dataset data = load_data(*settings);
    const Examples examples = link_examples(*settings, links, data);
    const LearningTask task(*settings, data, examples, metrics);

    Run run(*settings, task);
    while (run.next_run()) {
      const auto model = make_model<models::LinkModel>(*settings, task);
      const auto adam = make_adam(*model, settings->run);
      run.begin(*model, *adam);
      const auto epochs = link_epochs(run, links, *model, [&](const LinkStepBatch& batch) {
        const Var embeddings = batch.nodes.forward(model->encoder());
        Var loss = bce_with_logits(model->scores(embeddings, batch.pairs), batch.label);
        loss.backward();
        adam->step();
        return loss;
      });
      while (run.next_epoch()) run.end_epoch(epochs->train(run.epoch()), *epochs);
      run.finish(*epochs);
    }
    write_links(run);
    write_results(run);
  });
}
