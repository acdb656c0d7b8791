# The commands people type. Everything below `setup` works on a bare Debian 12 with git and make.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
DROVER := build/bin/drover
EXAMPLE := models/sprinkler.bif
# OFF compiles every source on its own: half as fast from nothing, faster after an edit.
BATCHES ?= ON
CONFIGURE := cmake -DDROVER_BATCHES=$(BATCHES) --preset

.DEFAULT_GOAL := help
.PHONY: help setup setup-test setup-bench build run python mpi reference test quick-test simd aarch64 fuzz differential mutants bench install deb dist format tidy sanitize clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: ## install what building needs (asks first when a terminal is attached)
	@tools/setup build
	@if ! tools/setup_npm.sh --check; then \
	  echo "compiling, while npm fetches the charts of the report"; tools/setup charts --agreed & charts=$$!; \
	  $(CONFIGURE) release > /dev/null && cmake --build build -j$(JOBS) --target drover_image drover_tag && wait $$charts; \
	fi

setup-test: setup
	@tools/setup test

setup-bench: setup-test
	@tools/setup bench

build: setup ## build build/bin/drover, the library and the experiments
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_command drover_reproduce

run: setup ## build the command, then the main job on an embedded example: marginals as a table and an HTML report
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_command
	@$(DROVER) marginals $(EXAMPLE) --observe lawn=wet --report build/report.html
	@echo "The report is at $(CURDIR)/build/report.html"

test: setup ## build, then run every test and a short fuzzing of each reader
	@tools/setup test --ask
	@$(CONFIGURE) release > /dev/null
	@tools/setup test --agreed & packages=$$!; \
	cmake --build build -j$(JOBS) --target drover_command drover_experiments && wait $$packages
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS)
	@$(CONFIGURE) fuzz > /dev/null
	@# A third of the tests' time is waiting, for browsers, signals, other processes: fuzz targets are compiled meanwhile.
	@nice -n 19 cmake --build build-fuzz -j$(JOBS) > build/fuzz-build.log 2>&1 & fuzz=$$!; \
	ctest --preset release -j$$(($(JOBS) + 2)); result=$$?; \
	if [ $$result != 0 ]; then kill $$fuzz 2> /dev/null; exit $$result; fi; wait $$fuzz || true
	@cmake --build build-fuzz -j$(JOBS)  # has nothing left to do, or says what was wrong
	@tools/fuzz --repeatable

simd: setup-test ## run what has vector kernels as on machines with AVX2 and with SSE4, and compare every method's bits
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS)
	@for level in avx2 sse4; do for part in sample infer run machine herd tag diagnose numeric; do \
	  echo "$$level $$part"; tests/with_simd $$level $(DROVER) build/bin/test_$$part --gtest_brief=1 || [ $$? = 77 ] || exit 1; \
	done; done
	@tests/same_bits $(DROVER) || [ $$? = 77 ]

aarch64: build ## compile the command for 64-bit ARM in a Debian of its own, start it under qemu and compare its answers
	@tools/setup aarch64
	@tools/test_aarch64

fuzz: setup-test ## hunt for faults in every reader for FUZZ_SECONDS each (default 60), anew each time
	@$(CONFIGURE) fuzz > /dev/null
	@cmake --build build-fuzz -j$(JOBS)
	@tools/fuzz $${FUZZ_SECONDS:-60}

differential: setup-test ## put QUESTIONS random small models (default 2000, from FIRST on) through every method, against the sum over all states
	@cmake --preset release > /dev/null
	@cmake --build build -j$(JOBS) --target test_differential
	@DROVER_FIRST_QUESTION=$${FIRST:-0} DROVER_QUESTIONS=$${QUESTIONS:-2000} build/bin/test_differential

mutants: setup-test ## read MUTANTS damaged NetCDF files (default 100000): each must be read or refused
	@cmake --preset release > /dev/null
	@cmake --build build -j$(JOBS) --target test_io_draws
	@DROVER_MUTANTS=$${MUTANTS:-100000} build/bin/test_io_draws --gtest_filter='NetcdfMutants.*'

python: setup ## build the Python package and open a prompt where `import drover` works
	@tools/setup python
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_python
	@/usr/bin/python3 -m venv --system-site-packages --without-pip build/venv
	@echo $(CURDIR)/build/python > $$(echo build/venv/lib/python3*/site-packages)/drover.pth
	@echo "The package is in the virtual environment build/venv: . build/venv/bin/activate"
	@build/venv/bin/python -i -c 'import drover as dv; print(">>> dv.grid(8, 8, coupling=.3).marginals()"); print(dv.grid(8, 8, coupling=.3).marginals())'

mpi: setup ## build build/bin/drover-mpi, the command for several machines, and run it with two processes
	@tools/setup mpi
	@cmake --preset release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_command drover_mpi
	@mpirun -n 2 --oversubscribe $(if $(filter 0,$(shell id -u)),--allow-run-as-root) build/bin/drover-mpi marginals $(EXAMPLE) --observe lawn=wet --method gibbs --quiet
	@echo "The command is build/bin/drover-mpi: mpirun -n N build/bin/drover-mpi COMMAND ...; docs/machines.md says more"

reference: setup-test ## build the reference of the Python package into build/reference
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_python
	@/usr/bin/python3 -m sphinx -q -b html docs/reference build/reference
	@echo "The reference is at $(CURDIR)/build/reference/index.html"

bench: setup-bench ## run the benchmarks and keep their figures in build/bench
	@$(CONFIGURE) release > /dev/null
	@cmake --build build -j$(JOBS) --target drover_command drover_python benches
	@tools/bench

install: setup ## install below PREFIX: command, library, headers, Python package, man pages, completions
	@tools/setup python
	@$(CONFIGURE) release -DCMAKE_INSTALL_PREFIX=$(PREFIX) > /dev/null
	@cmake --build build -j$(JOBS) --target drover_manual drover_reproduce drover_python
	@DESTDIR=$(DESTDIR) cmake --install build

deb: setup ## build Debian packages into build/deb; tools/test_deb tries them on a bare machine
	@tools/setup deb
	@mkdir -p build && rm -rf build/deb && env -u MAKEFLAGS debian/rules binary > build/deb.log 2>&1 || { tail -20 build/deb.log; exit 1; }
	@debian/rules clean > /dev/null 2>&1
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DCMAKE_INSTALL_LIBDIR=lib -DDROVER_COMPONENTS=auto > /dev/null
	@lintian --fail-on=error,warning build/deb/*.deb
	@ls build/deb/*.deb

dist: setup ## make the source archive, which can be built without npm and network, in build/
	@tools/make_dist

format: ## format every source
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

tidy: setup-test ## run clang-tidy over the library and the command, and compile every public header alone
	@cmake --preset release -B build-tidy -DDROVER_BATCHES=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON > /dev/null
	@# In batches: reading the headers takes longer than looking at a source.
	@sed -n 's/^ *"file": "\(.*\)".*/\1/p' build-tidy/compile_commands.json \
	  | grep -E '/Unity/unity_(drover|app)_|/build-tidy/batches/|^$(CURDIR)/(drover|app)/' \
	  | xargs -P$(JOBS) -n1 clang-tidy -p build-tidy --quiet
	@$(CONFIGURE) release > /dev/null && cmake --build build -j$(JOBS) --target test_rules
	@DROVER_ALL_HEADERS=1 build/bin/test_rules --gtest_filter='*StandAlone' --gtest_brief=1

sanitize: setup-test ## run the tests under the address and undefined sanitizers at once, then under the thread sanitizer
	@failed=; for preset in asan tsan; do \
	  $(CONFIGURE) $$preset > /dev/null && cmake --build --preset $$preset -j$(JOBS) && ctest --preset $$preset -j$(JOBS) \
	    || failed="$$failed $$preset"; \
	done; \
	test -z "$$failed" || { echo "make sanitize: there are faults in:$$failed (build-NAME/Testing/Temporary/LastTest.log)"; exit 1; }

clean: ## remove everything that was built
	@rm -rf build build-*
