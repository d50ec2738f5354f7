#pragma once

#include <adjoint/nn/module.h>

#include <map>
#include <string>

namespace adj::nn {

/// Reads the state dict of a PyG model: a file whose name ends in ".safetensors", as
/// `safetensors.torch.save_file(model.state_dict(), path)` writes it, or what `data/to_adjoint.py state`
/// made of it, HDF5 with a dataset for each tensor under its name there. A model that is built of the same
/// layers under the same names is found in it as it is; `names` says what the file calls the parts of which
/// that is not true, as whole parts of names: {{"net.lins.0", "net.0"}, {"net.lins.1", "net.2"}} for a
/// torch.nn.Sequential; "" is all of the module, as in {{"", "conv"}} for a layer whose file has "conv."
/// before each name. Layouts are converted (PyG's linear maps are [out, in]), dtypes to the model's; PyG's
/// name for what its batch norm wraps ("norm.module.weight") is known, and the count of batches is passed
/// over. Overwrites in place, on the model's device. Throws DataError, naming the file and the first
/// culprit, where a tensor is missing, left over or of another shape; then nothing was changed.
void load_pyg_state(Module& module, const std::string& path,
                    const std::map<std::string, std::string>& names = {});

}  // namespace adj::nn
