#pragma once

#include "../reference/plain.h"
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/family.h>
#include <adjoint/training/options.h>

// Models with random numbers in all of their state, and their checkpoints.

namespace adj::test {

/// Positive numbers where variances are expected.
inline void randomise(nn::Module& model, Draw& draw) {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : model.state())
    state[name] = name.ends_with("running_var") ? draw.uniform(tensor.shape(), 0.5, 1.5)
                                                : draw.uniform(tensor.shape(), -0.8, 0.8);
  model.load_state(state);
}

/// A checkpoint of such a model of `family` as a training writes it, with these facts.
inline models::Checkpoint random_checkpoint(const models::ModelFamily& family, models::ModelOptions options,
                                            int64_t in, int64_t out, Draw& draw,
                                            const std::map<std::string, std::string>& facts) {
  models::Checkpoint checkpoint;
  checkpoint.program = family.program;
  checkpoint.facts = {{"features", fmt::format("{}", in)},
                      {"outputs", fmt::format("{}", out)},
                      {"features.scaling", "none"},
                      {"option.precision", "float32"},
                      {"option.batch-size", "2"},
                      {"epoch", "3"},
                      {"best_epoch", "2"}};
  for (const Option& option : training::bind(family, options))
    checkpoint.facts["option." + option.name] = option.text();
  for (const auto& [fact, text] : facts) checkpoint.facts[fact] = text;
  const auto model = family.make(in, out, options);
  randomise(*model, draw);
  for (const auto& [name, tensor] : model->state()) {
    checkpoint.tensors["best." + name] = tensor;
    checkpoint.tensors["model." + name] = draw.uniform(tensor.shape(), 0.1, 0.9);  // of the last epoch
  }
  return checkpoint;
}

}  // namespace adj::test
