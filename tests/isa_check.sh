#!/bin/bash
# isa_check.sh OBJDUMP PROGRAM: checks that a program with CPU kernels for AVX2 and AVX-512 has AVX-512
# instructions only in section .text_cpu_v4, where the second kernels are (cmake/AdjointIsa.cmake), and has some there.
# Elsewhere any CPU may run them. One function tests the CPU itself.
set -euo pipefail
"$1" --disassemble --wide "$2" | awk '
  /^Disassembly of section/ { v4 = /\.text_cpu_v4/ }
  /^[0-9a-f]+ <.*>:$/ { name = $2 }
  # An EVEX prefix (62, after prefixes for segments), or a mask register.
  /:\t(2e |36 |3e |26 |64 |65 |67 )*62 / || /%k[0-7]/ {
    if (v4) inside++
    else if (name !~ /count_by_vectors/ && !(name in seen)) { seen[name]; outside++; print "AVX-512 in " name ": " $0 }
  }
  END {
    print inside + 0 " AVX-512 instructions in .text_cpu_v4, " outside + 0 " functions with any outside"
    exit outside > 0 || inside == 0
  }'
