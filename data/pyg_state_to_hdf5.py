#!/usr/bin/env python3
"""Writes the state dict of a PyG (or any torch) model as HDF5, a dataset for each tensor under its own name, for
adj::nn::load_pyg_state.

    torch.save(model.state_dict(), 'model.pt')
    python3 pyg_state_to_hdf5.py model.pt model.h5

Needs torch and h5py. Within Python: write_state(model.state_dict(), 'model.h5').
"""
import os
import sys

import h5py
import torch


def write_state(state, path):
    """The file appears under its name when it is complete."""
    beside = f'{path}.{os.getpid()}.tmp'
    try:
        with h5py.File(beside, 'w', libver='latest') as file:
            for name, tensor in state.items():
                if not torch.is_tensor(tensor):
                    raise TypeError(f'{name}: a {type(tensor).__name__}, expected a tensor; is this a state dict?')
                tensor = tensor.detach().cpu()
                if tensor.dtype in (torch.bfloat16, torch.float16):
                    tensor = tensor.float()
                file.create_dataset(name, data=tensor.contiguous().numpy())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.remove(beside)
        raise


def main():
    if len(sys.argv) != 3:
        sys.exit(f'usage: {sys.argv[0]} STATE.pt OUT.h5')
    state = torch.load(sys.argv[1], map_location='cpu', weights_only=True)
    write_state(state, sys.argv[2])
    print(f'{sys.argv[2]}: {len(state)} tensors')


if __name__ == '__main__':
    main()
