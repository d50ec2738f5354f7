#!/bin/bash
# Installs the Debian packages that a purpose needs and that are missing here; does nothing when none is.
#   scripts/install_deps.sh build|test|format|docs ...
# build: library and programs. test: what the tests need besides. format: make format. docs: make docs and its tests.
set -euo pipefail

build=(build-essential cmake ninja-build ccache libhdf5-dev libfmt-dev libdnnl-dev
  libboost-program-options-dev libmetis-dev zlib1g-dev libzip-dev libyaml-cpp-dev
  libserd-dev libsqlite3-dev libeigen3-dev nlohmann-json3-dev libprotobuf-dev protobuf-compiler)
test=("${build[@]}" doctest-dev python3 python3-h5py python3-numpy
  python3-networkx python3-scipy python3-rdflib curl python3-dev python3-venv pkg-config
  libopenmpi-dev openmpi-bin)
format=(clang-format)
docs=(doxygen doxygen-awesome-css python3 chromium)

wanted=()
for purpose in "$@"; do
  case $purpose in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    format) wanted+=("${format[@]}") ;;
    docs) wanted+=("${docs[@]}") ;;
    *) echo "install_deps.sh: unknown purpose '$purpose' (build, test, format or docs)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "Not a Debian system: if the build misses something, install what these Debian packages hold:" >&2
  echo "  ${wanted[*]}" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed* ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  # Without a terminal no password can be typed.
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    as_root=(sudo)
  else
    echo "These Debian packages are missing, and there is no way to become root here:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    echo "Have an administrator run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
fi

echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q || echo "apt-get update failed; trying with the package lists at hand" >&2
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"; then
  echo "Could not install these Debian packages:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi
