# Pawl: build, test, install.
#
#   make                build/pawl, build/pawl-server, build/libpawl.a, build/libpawl.so
#   make demo           install missing packages, build, run the demonstration
#   make screenshots    take the pictures in docs/img again
#   make test           all checks that a change must pass; test-all is slower and more thorough
#   make SAN=asan       build in build/asan with a sanitizer (asan: address and undefined; tsan: threads)
#   make CC=clang       build in build/clang
#   make BUILD=dir      build in dir
#   make CCACHE=        compile everything: without this, ccache is used if it is installed
#   make install        PREFIX=/usr/local, DESTDIR=; make uninstall; make deb: a Debian package in build/
#
# Each variant has its own directory, including generated files, so that all of them can be built in parallel.

ifeq ($(origin CC),default)
CC = gcc
endif
AWK = awk
PKG_CONFIG = pkg-config
CLANG_FORMAT = clang-format-14
JOBS := $(shell nproc)

empty :=
space := $(empty) $(empty)
variant := $(subst $(space),-,$(strip $(filter-out gcc cc,$(notdir $(CC))) $(SAN)))
BUILD = build$(addprefix /,$(variant))

PREFIX = /usr/local
DESTDIR =
bindir = $(PREFIX)/bin
libdir = $(PREFIX)/lib
libexecdir = $(PREFIX)/libexec/pawl
includedir = $(PREFIX)/include
mandir = $(PREFIX)/share/man
docdir = $(PREFIX)/share/doc/pawl
unitdir = $(PREFIX)/lib/systemd/system
sysusersdir = $(PREFIX)/lib/sysusers.d
bashdir = $(PREFIX)/share/bash-completion/completions
zshdir = $(PREFIX)/share/zsh/site-functions
fishdir = $(PREFIX)/share/fish/vendor_completions.d

# --- flags -------------------------------------------------------------------------------------------

PACKAGES = sqlite3 jansson libsodium libzstd yaml-0.1
# libpq is loaded at run time, only if PostgreSQL is used: the build needs its header, not the library.
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null) \
	-I$(shell pg_config --includedir 2>/dev/null || echo /usr/include/postgresql)
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
# Only pawl-server needs these.
SERVER_PACKAGES = libmicrohttpd
SERVER_LIBS := $(shell $(PKG_CONFIG) --libs $(SERVER_PACKAGES) 2>/dev/null)

WARNINGS = -Wall -Wextra -Wconversion -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
ifeq ($(findstring clang,$(CC)),)
# Calls of snprintf truncate on purpose.
WARNINGS += -Wno-format-truncation
endif

HARDENING = -fstack-protector-strong -fstack-clash-protection
ifneq ($(filter x86_64-% i%86-%,$(shell $(CC) -dumpmachine)),)
HARDENING += -fcf-protection
endif

# Sanitizer instrumentation causes false warnings in gcc; the plain build has all of them enabled.
ifeq ($(SAN),asan)
OPTIMIZE = -O1 -fno-omit-frame-pointer
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all
WARNINGS =
else ifeq ($(SAN),tsan)
OPTIMIZE = -O1 -fno-omit-frame-pointer
SANITIZE = -fsanitize=thread
WARNINGS =
else ifeq ($(SAN),fuzz)
# libFuzzer comes with clang.
OPTIMIZE = -O1 -fno-omit-frame-pointer
SANITIZE = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
WARNINGS =
else ifeq ($(SAN),)
OPTIMIZE = -O2
# Not with a sanitizer: it does not intercept the fortified variants of libc's functions.
FORTIFY = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
else
$(error SAN is asan, tsan or fuzz, not "$(SAN)")
endif

# ccache shares objects between the clones on a machine. The folder of a clone is therefore not part of their debug
# information: start gdb in it. A cache that can't be written would make each compilation fail.
CCACHE := $(if $(findstring ccache,$(CC)),,$(shell command -v ccache >/dev/null && \
	folder=$$(ccache -k cache_dir) && mkdir -p "$$folder" 2>/dev/null && test -w "$$folder" && echo ccache))
ifneq ($(CCACHE),)
CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_BASEDIR
PREFIX_MAP = -fdebug-prefix-map=$(CURDIR)=.
endif

CPPFLAGS =
# Sanitizer reports need only functions and lines.
CFLAGS = $(OPTIMIZE) $(if $(SAN),-g1,-g)
LDFLAGS =
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Isrc -Iinclude -I$(BUILD)/gen $(PKG_CFLAGS) $(CPPFLAGS) \
	$(CFLAGS) $(PREFIX_MAP) $(WARNINGS) $(HARDENING) $(FORTIFY) $(SANITIZE) -pthread
ALL_LDFLAGS = $(SANITIZE) -pthread -Wl,-z,relro,-z,now,--as-needed $(LDFLAGS)
LIBS = $(PKG_LIBS) -ldl -lpthread -lm

# V=1 prints the commands.
ifeq ($(V),)
QUIET = @printf "  %-5s %s\n" $(1) $@;
endif

# --- source files ------------------------------------------------------------------------------------

LAYERS = base core parse store exec dispatch engine remote api
# The folder of a layer and two levels below it. The shim is a separate program.
LIB_DIRS := $(filter-out src/exec/shim/,$(wildcard $(LAYERS:%=src/%/) $(LAYERS:%=src/%/*/) $(LAYERS:%=src/%/*/*/)))
LIB_SRCS := $(wildcard $(addsuffix *.c,$(LIB_DIRS)))
CLI_SRCS := $(wildcard src/cli/*.c src/cli/*/*.c)
SHIM_SRCS := $(wildcard src/exec/shim/*.c)
SERVER_SRCS := $(wildcard src/server/*.c)
WEB := $(sort $(wildcard web/*.html web/*.css web/*.js web/*.svg))
# Generates the man pages and docs/CLI.md from the tables; not installed.
MANUAL_SRCS := $(wildcard tools/manual/*.c)
TEST_SRCS := $(wildcard tests/test_*.c)
TEST_COMMON := $(wildcard tests/harness.c tests/fixture.c tests/fixture_*.c tests/workflow_fixture.c tests/workflow_case.c)
# Random workflows and the model they are compared with, for tests/test_random*.c.
RANDOM_SRCS := $(wildcard tests/random/*.c)
FUZZ_SRCS := $(wildcard tests/fuzz/*.c)
# The parts of the library that they need; they do not link all of it.
FUZZ_LIB := $(wildcard $(addsuffix *.c,$(filter src/base/% src/core/% src/parse/%,$(LIB_DIRS))) src/exec/outputs.c)
# The parts of the server that read requests, for the fuzzers that define endpoints of their own.
FUZZ_SERVER := $(patsubst %,src/server/%.c,answer args body endpoints)
BENCH_SRCS := $(wildcard bench/*.c)
# The database backends of bench/raw.c.
RAW_SRCS := $(wildcard bench/raw/*.c)
PLUGIN_SRCS := $(wildcard examples/plugin*.c)
EXAMPLE_SRCS := $(filter-out $(PLUGIN_SRCS),$(wildcard examples/*.c))
SQL := $(sort $(wildcard src/store/sql/*.sql))
MIGRATIONS := $(sort $(wildcard src/store/migrations/*.sql))

# The tables generated from SQL are needed only by a store.
GEN_SRCS := $(if $(wildcard src/store/driver/db.h),$(BUILD)/gen/statements.c $(BUILD)/gen/migrations.c)

ifeq ($(SAN),tsan)
# Only tests that start threads are of use under TSan.
TEST_SRCS := $(if $(TEST_SRCS),$(shell grep -lw TEST_THREADED $(TEST_SRCS)))
endif

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1:$(BUILD)/%=%))
LIB_OBJS := $(call object,$(LIB_SRCS) $(GEN_SRCS))
CLI_OBJS := $(call object,$(CLI_SRCS))
# Requests to a server wait for the network: a program that makes none should pay little for them.
$(filter $(BUILD)/obj/src/remote/%,$(LIB_OBJS)): OPTIMIZE := $(OPTIMIZE:-O2=-Os)
SHIM_OBJS := $(call object,$(SHIM_SRCS))
SERVER_OBJS := $(call object,$(SERVER_SRCS) $(BUILD)/gen/web.c)
MANUAL_OBJS := $(call object,$(MANUAL_SRCS))
COMMON_OBJS := $(call object,$(TEST_COMMON))
RANDOM_OBJS := $(call object,$(RANDOM_SRCS))
RAW_OBJS := $(call object,$(RAW_SRCS))
PROGRAM_OBJS := $(call object,$(TEST_SRCS) $(FUZZ_SRCS) $(BENCH_SRCS) $(EXAMPLE_SRCS))
PLUGIN_OBJS := $(call object,$(PLUGIN_SRCS))
OBJS := $(LIB_OBJS) $(CLI_OBJS) $(SHIM_OBJS) $(SERVER_OBJS) $(MANUAL_OBJS) $(COMMON_OBJS) $(RANDOM_OBJS) $(RAW_OBJS) $(PROGRAM_OBJS) \
	$(PLUGIN_OBJS)

TESTS := $(TEST_SRCS:tests/%.c=$(BUILD)/tests/%)
FUZZERS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/tests/%)
BENCHES := $(BENCH_SRCS:bench/%.c=$(BUILD)/bench/%)
EXAMPLES := $(EXAMPLE_SRCS:examples/%.c=$(BUILD)/examples/%)
PLUGINS := $(PLUGIN_SRCS:examples/%.c=$(BUILD)/examples/%.so)
PROGRAMS := $(if $(CLI_SRCS),$(BUILD)/pawl) $(if $(SHIM_SRCS),$(BUILD)/pawl-shim) $(if $(SERVER_SRCS),$(BUILD)/pawl-server)

# --- build -------------------------------------------------------------------------------------------

.PHONY: all tests test-programs benches examples warnings server-warnings
all: $(BUILD)/libpawl.a $(BUILD)/libpawl.so $(PROGRAMS) $(BUILD)/man
tests: all examples test-programs
test-programs: $(TESTS) $(filter %/pawl-shim %/pawl-server,$(PROGRAMS))
benches: all $(BENCHES)
examples: $(EXAMPLES) $(PLUGINS)
# Compiler warnings only, without generating code.
warnings: $(OBJS:.o=.checked)
server-warnings: $(SERVER_OBJS:.o=.checked)

# Optimizing the tests themselves takes six times as long as compiling them and does not make them faster. There is no
# fortified libc without optimization.
UNOPTIMIZED := $(call object,$(filter-out tests/test_random%,$(TEST_SRCS)) $(TEST_COMMON))
$(UNOPTIMIZED): OPTIMIZE = -O0
$(UNOPTIMIZED): FORTIFY =

$(OBJS): PIC = -fPIE
# The archive and the shared object use the same objects; with hidden symbols PIC costs nothing.
$(LIB_OBJS) $(PLUGIN_OBJS): PIC = -fPIC -fvisibility=hidden

$(OBJS) $(OBJS:.o=.checked): Makefile | $(BUILD)/have-packages $(BUILD)/gen/statements.h

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CCACHE) $(CC) $(ALL_CFLAGS) $(PIC) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CCACHE) $(CC) $(ALL_CFLAGS) $(PIC) -MMD -MP -c -o $@ $<

# ccache caches only objects; without optimization they take little longer than the warnings.
CHECK = $(CCACHE) $(CC) $(ALL_CFLAGS) $(if $(CCACHE),-O0 -U_FORTIFY_SOURCE -c -o $(@:.checked=.check.o),-fsyntax-only) \
	-MMD -MP -MF $(@:.checked=.d) -MT $@ $< && touch $@

$(BUILD)/obj/gen/%.checked: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(call QUIET,CHECK)$(CHECK)

$(BUILD)/obj/%.checked: %.c
	@mkdir -p $(@D)
	$(call QUIET,CHECK)$(CHECK)

# A directory changes when a file is added or removed, even one whose object no longer exists.
$(BUILD)/libpawl.a: $(LIB_OBJS) $(LIB_DIRS)
	$(call QUIET,AR)rm -f $@ && $(AR) rcs $@ $(LIB_OBJS)

$(BUILD)/libpawl.so: $(BUILD)/libpawl.so.0
	@ln -sf $(<F) $@

$(BUILD)/libpawl.so.0: $(LIB_OBJS) $(LIB_DIRS)
	$(call QUIET,LINK)$(CC) -shared -Wl,-soname,$(@F) $(ALL_LDFLAGS) -o $@ $(LIB_OBJS) $(LIBS)

LINK = $(call QUIET,LINK)$(CC) -pie $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

$(BUILD)/pawl: $(CLI_OBJS) $(BUILD)/libpawl.a
	$(LINK)

$(BUILD)/pawl-shim: $(SHIM_OBJS) $(BUILD)/libpawl.a
	$(LINK)

# A client of the shared library, like any other program, so that it is small and uses nothing but pawl.h; base/ is linked in.
# It finds the library in the build folder, and installed in libexec/pawl next to the library's folder.
$(BUILD)/pawl-server: LIBS += $(SERVER_LIBS)
$(BUILD)/pawl-server: LDFLAGS += -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../../lib'
$(BUILD)/pawl-server: $(SERVER_OBJS) $(filter $(BUILD)/obj/src/base/%,$(LIB_OBJS)) $(BUILD)/libpawl.so
	$(call QUIET,LINK)$(CC) -pie $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libpawl.so $(LIBS)

$(BUILD)/manual: $(MANUAL_OBJS) $(filter-out %/main.o,$(CLI_OBJS)) $(BUILD)/libpawl.a
	$(LINK)

$(BUILD)/man: $(BUILD)/manual
	$(call QUIET,MAN)rm -rf $@ && mkdir $@ && $< man $@

docs/CLI.md: $(BUILD)/manual
	$< markdown >$@.new && mv $@.new $@

# There are many tests, and gold, if installed, links them in half the time. Installed programs use the default linker.
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
$(TESTS): LDFLAGS += $(GOLD)
$(TESTS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(COMMON_OBJS) $(BUILD)/libpawl.a
	@mkdir -p $(@D)
	$(LINK)

$(filter $(BUILD)/tests/test_random%,$(TESTS)): $(RANDOM_OBJS)
$(BUILD)/tests/test_read_budget: $(BUILD)/obj/src/server/read_budget.o

$(FUZZERS): $(BUILD)/tests/%: $(BUILD)/obj/tests/fuzz/%.o $(call object,$(FUZZ_LIB))
	@mkdir -p $(@D)
	$(call QUIET,LINK)$(CC) -pie -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(addprefix $(BUILD)/tests/fuzz_,target body): $(call object,$(FUZZ_SERVER))

$(filter-out %/mark,$(BENCHES)): $(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(COMMON_OBJS) $(BUILD)/libpawl.a
	@mkdir -p $(@D)
	$(LINK)

$(BUILD)/bench/raw: $(RAW_OBJS)

$(BUILD)/bench/latency: | $(BUILD)/bench/mark
$(BUILD)/bench/mark: $(BUILD)/obj/bench/mark.o
	@mkdir -p $(@D)
	$(LINK)

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(BUILD)/libpawl.a
	@mkdir -p $(@D)
	$(LINK)

# A third-party program that links libpq in the ordinary way.
$(BUILD)/examples/pg_submit: LIBS = -lpq

$(PLUGINS): $(BUILD)/examples/%.so: $(BUILD)/obj/examples/%.o
	@mkdir -p $(@D)
	$(call QUIET,LINK)$(CC) -shared $(ALL_LDFLAGS) -o $@ $<

$(BUILD)/have-packages:
	@mkdir -p $(@D)
	@$(PKG_CONFIG) --exists --print-errors $(PACKAGES) $(SERVER_PACKAGES) || { echo 'Try: tools/install-deps build' >&2; exit 1; }
	@touch $@

# Statements: the header is not touched while the names stay the same, so that a change of SQL recompiles only one file.
sqlgen = $(AWK) -v vocab=src/core/vocab.h -v flags=src/core/graph.h -v make=$(@F) -f tools/sqlgen.awk

$(BUILD)/gen/statements.h: $(BUILD)/gen/statements.c
	@$(sqlgen) $(SQL) </dev/null >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/gen/statements.c: tools/sqlgen.awk src/core/vocab.h src/core/graph.h $(wildcard src/store/sql) $(SQL)
	@mkdir -p $(@D)
	@$(sqlgen) $(SQL) </dev/null >$@.new
	@mv $@.new $@

$(BUILD)/gen/migrations.c: tools/sqlgen.awk src/core/vocab.h src/core/graph.h $(wildcard src/store/migrations) $(MIGRATIONS)
	@mkdir -p $(@D)
	@$(sqlgen) $(MIGRATIONS) </dev/null >$@.new
	@mv $@.new $@

# The pages of pawl-server. The folder changes when a file is added or removed.
$(BUILD)/gen/web.c: tools/webgen $(wildcard web) $(WEB)
	@mkdir -p $(@D)
	@tools/webgen $(WEB) >$@.new
	@mv $@.new $@

-include $(OBJS:.o=.d)

# --- try, test, measure ------------------------------------------------------------------------------

# A make with -j shares its jobs with sub-makes; otherwise use all processors.
SUBMAKE = $(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) --no-print-directory

.PHONY: demo screenshots test test-containers test-upgrade test-all gcc-build asan-build tsan-build clang-warnings fuzz-build fuzzers fuzz mutants \
	chaos test-web check-web check-api check-webhooks check-mhd empty-machine bench
demo:
	tools/install-deps build
	$(SUBMAKE) all
	PAWL_DEMO_DB="$(abspath $(BUILD))/demo.db" PATH="$(abspath $(BUILD)):$$PATH" sh examples/demo.sh

# The pictures of the pages in README.md and docs/SERVER.md.
screenshots:
	tools/install-deps test
	$(SUBMAKE) all
	PAWL_TEST_BUILD=$(abspath $(BUILD)) PYTHONPATH=tests python3 tests/screenshots.py

test:
	tools/install-deps test
	$(SUBMAKE) check-format check-layers check-sql check-mutants gcc-build fuzz-build
	tools/check-unused $(BUILD)
	BUILD=$(BUILD) tests/run --beside '$(SUBMAKE) asan-build tsan-build clang-warnings'

# With a real container engine; `make test` uses one only if it is installed.
test-containers:
	tools/install-deps containers
	$(SUBMAKE) gcc-build
	BUILD=$(BUILD) PAWL_TEST_CONTAINERS=1 tests/run containers

# Upgrades databases that an older revision uses: takes some minutes, and builds that revision.
test-upgrade:
	tools/install-deps test
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/upgrade_from $(REVISION)

test-all: export PAWL_TEST_FULL = 1
test-all: test
	BUILD=$(BUILD) tests/web_long

gcc-build:
	+$(SUBMAKE) tests benches
# The command line runs under a sanitizer only in the full run.
asan-build:
	+$(SUBMAKE) SAN=asan BUILD=$(BUILD)/asan $(if $(PAWL_TEST_FULL),tests,test-programs)
tsan-build:
	+$(SUBMAKE) SAN=tsan BUILD=$(BUILD)/tsan test-programs
clang-warnings:
	+$(SUBMAKE) CC=clang BUILD=$(BUILD)/clang warnings

# Without libFuzzer there is nothing to build; tests/fuzz.bats skips then.
fuzz-build:
	+@if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null; then \
		$(SUBMAKE) SAN=fuzz CC=clang BUILD=$(BUILD)/fuzz fuzzers; fi
fuzzers: $(FUZZERS)

# Runs each fuzzer in turn for FUZZ_SECONDS.
FUZZ_SECONDS = 60
fuzz: fuzz-build
	BUILD=$(BUILD) tests/fuzz/run $(FUZZ_SECONDS)

# Kills, cuts off and fills up everything, and adds the result to the campaign in $(BUILD)/chaos: tests/chaos/README.md.
CHAOS_MINUTES = 10
CHAOS_OPTIONS =
chaos:
	tools/install-deps test
	$(SUBMAKE) all
	tests/chaos/campaign.py --build $(abspath $(BUILD)) --folder $(abspath $(BUILD))/chaos --minutes $(CHAOS_MINUTES) $(CHAOS_OPTIONS)

# The pages in Chromium with much data, on both databases or that of PAWL_TEST_DB: some minutes each. What fits is part of `make test`.
test-web:
	tools/install-deps test
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/web_long

# The pages with axe-core, which is installed from npm into $(BUILD).
check-web:
	tools/install-deps bench
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/check_web

# Tries the HTTP interface with schemathesis (PyPI) and promtool (Debian), which are unpacked in $(BUILD).
check-api:
	tools/install-deps test
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/check_api

# Exchanges messages with the reference implementation of Standard Webhooks (PyPI).
check-webhooks:
	tools/install-deps test
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/check_webhooks

# pawl-server with the libmicrohttpd of Debian 13, whose source apt's mirrors have; it is built in $(BUILD).
check-mhd:
	tools/install-deps test
	$(SUBMAKE) all
	BUILD=$(BUILD) tests/check_mhd

mutants:
	tools/install-deps test
	BUILD=$(BUILD) tests/mutants/run

empty-machine:
	rm -rf $(BUILD)/empty-machine $(BUILD)/empty-machine.conf
	mkdir -p $(BUILD)
	tests/empty_machine $(abspath $(BUILD))/empty-machine

bench:
	tools/install-deps bench
	$(SUBMAKE) benches
	BUILD=$(BUILD) bench/run

# --- checks and format -------------------------------------------------------------------------------

C_FILES := $(wildcard $(foreach d,include src src/* src/*/* src/*/*/* tools/manual tests tests/chaos tests/fuzz tests/random bench bench/raw examples models,$(d)/*.c $(d)/*.h))

.PHONY: format check-format check-layers check-sql check-mutants
format:
	@$(CLANG_FORMAT) -i $(C_FILES) $(filter %.js,$(WEB))

check-format:
	@$(CLANG_FORMAT) --dry-run -Werror $(C_FILES) $(filter %.js,$(WEB))

check-layers:
	tools/check-layers --self-test
	tools/check-layers

check-sql:
	tools/check-sql --self-test
	tools/check-sql

check-mutants:
	tools/check-mutants

# --- install -----------------------------------------------------------------------------------------

VERSION = $(shell sed -n 's/^\#define PAWL_VERSION  *"\(.*\)"/\1/p' include/pawl.h)

MAN_PAGES = $(notdir $(wildcard $(BUILD)/man/*))
PROXY_EXAMPLES = packaging/nginx-pawl.conf packaging/haproxy-pawl.cfg
DOCS = README.md CHANGELOG.md LICENSE docs/openapi.json $(wildcard docs/*.md)
UNITS = pawl-worker.service pawl-server.service pawl-server.socket

.PHONY: install uninstall deb clean
install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir) $(DESTDIR)$(libexecdir) \
		$(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5 $(DESTDIR)$(docdir) $(DESTDIR)$(unitdir) \
		$(DESTDIR)$(sysusersdir) $(DESTDIR)$(bashdir) $(DESTDIR)$(zshdir) $(DESTDIR)$(fishdir)
	install $(BUILD)/pawl $(DESTDIR)$(bindir)
	install $(BUILD)/pawl-shim $(BUILD)/pawl-server $(DESTDIR)$(libexecdir)
	install -m 644 $(BUILD)/libpawl.a $(BUILD)/libpawl.so.0 $(DESTDIR)$(libdir)
	ln -sf libpawl.so.0 $(DESTDIR)$(libdir)/libpawl.so
	install -m 644 include/pawl.h $(DESTDIR)$(includedir)
	sed $(foreach v,PREFIX libdir includedir VERSION PACKAGES,-e 's|@$v@|$($v)|') packaging/pawl.pc.in \
		>$(DESTDIR)$(libdir)/pkgconfig/pawl.pc
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(mandir)/man1
	install -m 644 $(BUILD)/man/*.5 $(DESTDIR)$(mandir)/man5
	$(BUILD)/pawl completion bash >$(DESTDIR)$(bashdir)/pawl
	$(BUILD)/pawl completion zsh >$(DESTDIR)$(zshdir)/_pawl
	$(BUILD)/pawl completion fish >$(DESTDIR)$(fishdir)/pawl.fish
	for unit in $(UNITS); do sed -e 's|/usr/local|$(PREFIX)|' packaging/$$unit >$(DESTDIR)$(unitdir)/$$unit || exit 1; done
	install -m 644 packaging/pawl.sysusers $(DESTDIR)$(sysusersdir)/pawl.conf
	install -m 644 $(DOCS) $(PROXY_EXAMPLES) $(DESTDIR)$(docdir)

uninstall: $(BUILD)/man
	rm -f $(addprefix $(DESTDIR),$(bindir)/pawl $(libexecdir)/pawl-shim $(libexecdir)/pawl-server $(libdir)/libpawl.a $(libdir)/libpawl.so.0 \
		$(libdir)/libpawl.so $(includedir)/pawl.h $(libdir)/pkgconfig/pawl.pc $(bashdir)/pawl $(zshdir)/_pawl \
		$(fishdir)/pawl.fish $(addprefix $(unitdir)/,$(UNITS)) $(sysusersdir)/pawl.conf \
		$(addprefix $(mandir)/man1/,$(filter %.1,$(MAN_PAGES))) $(addprefix $(mandir)/man5/,$(filter %.5,$(MAN_PAGES))) \
		$(addprefix $(docdir)/,$(notdir $(DOCS) $(PROXY_EXAMPLES))))
	rmdir $(DESTDIR)$(libexecdir) $(DESTDIR)$(docdir) 2>/dev/null || true

deb: all
	BUILD=$(BUILD) packaging/deb $(BUILD)

clean: # does not remove a custom BUILD=dir
	rm -rf build
