#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

// Encoders of one type of nodes, or of several. As in PyG's example: hidden width 128, embeddings of width
// 64, no weight decay.
int main(int argc, char** argv) {
  Options options(models::link(), "Trains a model for link prediction.");
  options.run.weight_decay = 0.0;
  options.run.epochs = 100;
  LinkOptions links;
  links.add_to(options);
  return apps::run_training(argc, argv, options, [&](const Settings& settings) {
    links.check(settings);
    settings.apply();
    const LearningTask task = link_task(settings, links);
    Run run(settings, task);
    while (run.next_run()) {
      const auto model = make_model<models::LinkModel>(settings, task);
      const auto optimizer = make_optimizer(*model, settings.run);
      run.begin(*model, *optimizer);
      const auto batches = link_batches(run, links, *model);
      Step step(*batches, [&](const LinkStepBatch& batch) {
        const Var embeddings = batch.nodes.forward(model->encoder());
        Var loss = bce_with_logits(model->scores(embeddings, batch.pairs), batch.label);
        loss.backward();
        update(*optimizer, model->encoder());
        return loss;
      });
      for (auto& epoch : run.epochs(*batches))
        for (const LinkStepBatch& batch : epoch) epoch.add(step(batch));
    }
    write_links(run);
    write_results(run);
  });
}
