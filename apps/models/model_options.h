#pragma once

#include "../common.h"

// The options that several models share.

namespace adj::apps {

using AddOption = boost::program_options::options_description_easy_init;

void add_stack_options(AddOption& add, Settings& settings);
void add_head_options(AddOption& add, Settings& settings);
void add_eps_option(AddOption& add, Settings& settings);
void add_bits_options(AddOption& add, Settings& settings);
/// Throws UsageError for --precision bfloat16, beside which numbers would be rounded twice.
void check_quantized_precision(const Settings& settings);

}  // namespace adj::apps
