#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#if defined(__SANITIZE_ADDRESS__)
// A test requests more memory than exists: the sanitizer must refuse it like the system, with a null pointer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
