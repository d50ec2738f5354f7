#pragma once

#include "../common.h"

// The options of mini-batches: --loader and what each loader takes.

namespace adj::apps {

/// Those of the program's loaders, and none where it has none.
void add_batch_options(const Program& program, boost::program_options::options_description& options,
                       Settings& settings);
/// Throws UsageError where they are out of range, do not go together, or were given beside a loader that does
/// not take them: differ from what is `usual` in the program.
void check_batch_options(const Program& program, const Settings& settings, const Settings& usual);

}  // namespace adj::apps
