#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/npz.h>

// The layouts of import_npz(), one file each: detection and import.

namespace adj::npz {

bool is_heterophilous(const NpzReader& z);
Dataset read_heterophilous(const NpzReader& z);

bool is_gnn_benchmark(const NpzReader& z);
Dataset read_gnn_benchmark(const NpzReader& z);

bool is_reddit(const NpzReader& z);
Dataset read_reddit(const NpzReader& z);

bool is_plain(const NpzReader& z);
Dataset read_plain(const NpzReader& z);

}  // namespace adj::npz
