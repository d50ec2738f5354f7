#include <adjoint/core/version.h>

#include <fmt/core.h>

int main() { fmt::print("adjoint {}\n", adj::version()); }
