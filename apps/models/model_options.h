#pragma once

#include "../common.h"

// The options that several models share.

namespace adj::apps {

using AddOption = boost::program_options::options_description_easy_init;

void add_stack_options(AddOption& add, Settings& settings);
void add_head_options(AddOption& add, Settings& settings);
void add_eps_option(AddOption& add, Settings& settings);

}  // namespace adj::apps
