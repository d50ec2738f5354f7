# Each target does everything it needs on a fresh Debian 12: missing packages, configuring, building, running.
# Underneath are CMake presets (cmake --list-presets). CMAKE_ARGS goes to the configure step, as in
#   make build CMAKE_ARGS=-DADJOINT_CUDA=OFF
# TESTS picks tests by a regular expression of their names, as in make test TESTS=apps/

.DEFAULT_GOAL := help
.PHONY: help build test check demo package docs results format check-format clean deps-build deps-test deps-format deps-docs configure

JOBS := $(shell nproc)
CMAKE_ARGS :=
TESTS :=
SOURCES = core kernels graph data autograd nn optim models training apps bench python tests
FORMATTED = find $(SOURCES) -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh'

# Minutes as measured on two cores without CUDA, scaled to the cores here.
minutes = $$(( ($(1) * 2 + $(JOBS) - 1) / $(JOBS) )) minutes on $(JOBS) cores, longer with CUDA
# Runs tests and lists what they skipped.
run_tests = ctest --preset release -j $(JOBS) $(1); status=$$?; \
  sed -n 's/.*MESSAGE: skipped: /skipped: /p' build/Testing/Temporary/LastTest.log | sort -u; exit $$status

help:
	@echo "make build    library and programs, into build/ and build/bin/"
	@echo "make test     build those and the tests, then run them, or those of TESTS=REGEX"
	@echo "make check    make test, then the long tests: every option of the programs, many rounds of the fuzzers"
	@echo "make demo     build train_gcn, then train a GCN on the built-in demo dataset"
	@echo "make package  Debian packages for any x86-64 with AVX2, into build-package/: programs, and the library"
	@echo "make docs     pages and API reference as a site, build/docs/index.html"
	@echo "make results  write docs/benchmarks.md and its plots from bench/results"
	@echo "make format   lay out the sources by .clang-format"
	@echo "make clean    remove all build trees"

build: deps-build configure
	@[ -d build/bin ] || echo "The first build takes about $(call minutes,8)"
	@cmake --build --preset release -j $(JOBS)

demo: deps-build configure
	@[ -d build/bin ] || echo "The first build takes about $(call minutes,6)"
	@cmake --build --preset release -j $(JOBS) --target train_gcn
	@build/bin/train_gcn
	@echo "Next: make build, then build/bin/convert edges EDGES.csv own.h5 --features NODES.csv --labels LABELS.csv --split 60,20,20"

# Configured once; afterwards the build itself notices what changed.
configure: | deps-build
	@[ -f build/build.ninja ] && [ -z "$(CMAKE_ARGS)" ] || cmake --preset release $(CMAKE_ARGS)

test: deps-test
	@[ -d build/bin ] || echo "The first build and the tests take about $(call minutes,25)"
	@cmake --preset release -DADJOINT_BUILD_TESTS=ON '-DADJOINT_TESTS=$(TESTS)' $(CMAKE_ARGS)
	@cmake --build --preset release -j $(JOBS)
	@$(call run_tests,$(if $(TESTS),-R '$(TESTS)',-LE long))

check: test
	@$(call run_tests,-L long)

package: deps-build
	@cmake --preset release -B build-package -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_BINDIR=libexec/adjoint \
	  -DADJOINT_CUDA=OFF -DADJOINT_NATIVE=OFF $(CMAKE_ARGS)
	@cmake --build build-package -j $(JOBS) --target package

docs: deps-docs
	@python3 docs/site/build.py

results:
	@scripts/results.py

format: deps-format
	@$(FORMATTED) | xargs clang-format -i

check-format: deps-format
	@$(FORMATTED) | xargs clang-format --dry-run -Werror

clean:
	rm -rf build build-*/

deps-build deps-test deps-format deps-docs: deps-%:
	@scripts/install_deps.sh $*
