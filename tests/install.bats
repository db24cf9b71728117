#!/usr/bin/env bats
# make install, make uninstall and make deb: the installed files work from where they are.
# TEST_NO_DB

setup() {
	# only for the build that is installed, not for sanitizer builds
	[ ! -e "$PAWL_TEST_BUILD/../pawl" ] || skip 'this is a variant'
	cd "$BATS_TEST_DIRNAME/.."
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"
	unset PAWL_SHIM PAWL_DB MAKEFLAGS MAKELEVEL
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state PATH=/usr/local/bin:/usr/bin:/bin
}

build() { make --no-print-directory -s BUILD="$PAWL_TEST_BUILD" "$@"; }

# A command runs under the shim that belongs to this pawl.
works() { # pawl
	db=sqlite:$BATS_TEST_TMPDIR/pawl.db
	shim=$("$1" --db "$db" exec -- sh -c 'readlink /proc/$PPID/exe')
	[ "$shim" = "$(realpath "${1%/bin/pawl}/libexec/pawl/pawl-shim")" ] || { echo "$shim"; return 1; }
	"$1" --db "$db" verify
}

@test "files installed by make install work, and make uninstall removes all of them" {
	build install DESTDIR="$root"
	works "$root/usr/local/bin/pawl"
	for f in lib/libpawl.a lib/libpawl.so include/pawl.h share/man/man1/pawl-run.1 share/man/man5/pawl.yaml.5 \
		share/bash-completion/completions/pawl share/zsh/site-functions/_pawl share/doc/pawl/LICENSE \
		share/fish/vendor_completions.d/pawl.fish lib/systemd/system/pawl-worker.service \
		lib/systemd/system/pawl-server.service lib/systemd/system/pawl-server.socket share/doc/pawl/openapi.json; do
		[ -s "$root/usr/local/$f" ] || { echo "$f"; return 1; }
	done
	"$root/usr/local/libexec/pawl/pawl-server" --print-openapi | cmp - <("$PAWL_TEST_BUILD/pawl-server" --print-openapi)
	build uninstall DESTDIR="$root"
	[ -z "$(find "$root" ! -type d)" ]
}

@test "program can be built with the installed library through pkg-config" {
	build install DESTDIR="$root" PREFIX=/opt/pawl
	lib=$root/opt/pawl/lib
	readelf -d "$lib/libpawl.so" | grep -q 'SONAME.*\[libpawl.so.0\]'
	cat >"$BATS_TEST_TMPDIR/program.c" <<-'END'
		#include <pawl.h>
		#include <stdio.h>
		int main(void) { return puts(pawl_version()) < 0; }
	END
	flags=$(PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs pawl)
	cc -o "$BATS_TEST_TMPDIR/program" "$BATS_TEST_TMPDIR/program.c" $flags
	[ "pawl $(LD_LIBRARY_PATH=$lib "$BATS_TEST_TMPDIR/program")" = "$("$root/opt/pawl/bin/pawl" --version)" ]
	grep -q "ExecStart=/opt/pawl/bin/pawl worker" "$lib/systemd/system/pawl-worker.service"
}

@test "Debian packages work where they are unpacked, and their programs stay below a size limit" {
	command -v dpkg-deb || skip 'no dpkg-deb'
	BUILD=$PAWL_TEST_BUILD packaging/deb "$BATS_TEST_TMPDIR"
	dpkg-deb -x "$BATS_TEST_TMPDIR"/pawl_*.deb "$root"
	works "$root/usr/bin/pawl"
	[ "$(stat -c %s "$root/usr/bin/pawl")" -lt 2000000 ]
	dpkg-deb -f "$BATS_TEST_TMPDIR"/pawl_*.deb Depends | grep tzdata
	! command -v dpkg-shlibdeps || dpkg-deb -f "$BATS_TEST_TMPDIR"/pawl_*.deb Depends | grep libsqlite3-0
	[ "$(dpkg-deb -c "$BATS_TEST_TMPDIR"/pawl_*.deb | awk '{ print $2 }' | sort -u)" = root/root ]
	[ ! -e "$root/usr/libexec/pawl/pawl-server" ]
	dpkg-deb -x "$BATS_TEST_TMPDIR"/pawl-server_*.deb "$root"
	"$root/usr/libexec/pawl/pawl-server" --print-openapi >/dev/null
	[ "$(stat -c %s "$root/usr/libexec/pawl/pawl-server")" -lt 800000 ]
}

@test "systemd accepts the units, and the server's is hardened" {
	command -v systemd-analyze || skip 'no systemd-analyze'
	build install PREFIX="$root" # so that the programs exist
	cd "$root/lib/systemd/system"
	systemd-analyze verify --man=no ./pawl-server.service ./pawl-server.socket ./pawl-worker.service
	systemd-analyze security --offline=true --threshold=20 ./pawl-server.service
}
