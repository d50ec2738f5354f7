#pragma once

#include <adjoint/nn/module.h>

#include <map>
#include <string>

namespace adj::nn {

/// Loads the state dict of a PyG model: a ".safetensors" file written by
/// `safetensors.torch.save_file(model.state_dict(), path)`, or HDF5 from `data/to_adjoint.py state`, with one
/// dataset per tensor.
/// A model of the same layers under the same names needs no `names`. Otherwise `names` maps this module's
/// name parts to the file's, as whole parts: {{"net.lins.0", "net.0"}, {"net.lins.1", "net.2"}} for a
/// torch.nn.Sequential; "" is the whole module, as in {{"", "conv"}} for a layer whose file has "conv."
/// before each name.
/// Converts layouts (PyG's linear maps are [out, in]) and dtypes to the model's. Knows PyG's name of wrapped
/// batch norms ("norm.module.weight") and skips the count of batches. Overwrites in place, on the model's
/// device. Throws DataError, naming the file and the first mismatch, if a tensor is missing, left over or of
/// another shape; then nothing is changed.
void load_pyg_state(Module& module, const std::string& path,
                    const std::map<std::string, std::string>& names = {});

/// Names of the tensors of such a file.
std::vector<std::string> pyg_state_names(const std::string& path);

}  // namespace adj::nn
