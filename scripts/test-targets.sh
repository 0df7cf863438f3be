#!/bin/sh
# Runs the tests of nvml/gen on every system that this machine can imitate:
# linux/amd64, linux/arm64 under qemu-user, windows/amd64 under Wine. Each run
# calls every NVML function in a C library built for that system.
#
#   scripts/test-targets.sh [amd64] [arm64] [windows]     default: all three
#
# A missing tool is a failure when CI=true; otherwise that part is left out and
# the script says how to get it.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
cleanup() {
	if [ -d "$work/prefix" ]; then
		WINEPREFIX="$work/prefix" wineserver -k >/dev/null 2>&1 || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
status=0

# need PART PACKAGES TOOL... tells whether all tools are there.
need() {
	part=$1 packages=$2
	shift 2
	for tool; do
		if ! command -v "$tool" >/dev/null 2>&1; then
			echo "$part: left out, $tool is missing: apt-get install --no-install-recommends $packages" >&2
			if [ "${CI:-}" = true ]; then
				status=1
			fi
			return 1
		fi
	done
}

# echo_library COMPILER FILE
echo_library() {
	compiler=$1 file=$2
	shift 2
	"$compiler" -shared -O1 -Wall -Werror "$@" -o "$file" internal/abi/echo.c
}

run_amd64() {
	need linux/amd64 gcc gcc || return 0
	echo_library gcc "$work/libecho-amd64.so" -fPIC
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go test -c -o "$work/gen-amd64" ./nvml/gen
	echo "linux/amd64:"
	(cd nvml/gen && NVML_ECHO_LIBRARY="$work/libecho-amd64.so" "$work/gen-amd64" -test.v >"$work/log" 2>&1) || failed
	report
}

run_arm64() {
	need linux/arm64 "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" aarch64-linux-gnu-gcc qemu-aarch64 || return 0
	echo_library aarch64-linux-gnu-gcc "$work/libecho-arm64.so" -fPIC
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go test -c -o "$work/gen-arm64" ./nvml/gen
	echo "linux/arm64 (qemu-user):"
	(cd nvml/gen && NVML_ECHO_LIBRARY="$work/libecho-arm64.so" qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/gen-arm64" -test.v >"$work/log" 2>&1) || failed
	report
}

run_windows() {
	need windows/amd64 "gcc-mingw-w64-x86-64 wine wine64" x86_64-w64-mingw32-gcc wine wineserver || return 0
	WINEPREFIX=$work/prefix WINEDEBUG=-all WINEARCH=win64
	export WINEPREFIX WINEDEBUG WINEARCH
	mkdir "$WINEPREFIX"
	wineserver -p900 </dev/null >/dev/null 2>&1 # one that stays: scripts/test.sh
	wine wineboot -i >/dev/null 2>&1
	x86_64-w64-mingw32-gcc -shared -O1 -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" \
		scripts/testdata/bcryptprimitives.c -ladvapi32
	echo_library x86_64-w64-mingw32-gcc "$work/echo.dll"
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go test -c -o "$work/gen.exe" ./nvml/gen
	echo "windows/amd64 (Wine):"
	(cd nvml/gen && NVML_ECHO_LIBRARY="Z:$work/echo.dll" wine "$work/gen.exe" -test.v </dev/null >"$work/log" 2>&1) || failed
	report
}

failed() {
	status=1
	cat "$work/log"
}

# report says how many functions passed; less than one line of the test's own
# count means that the test did not run.
report() {
	tr -d '\r' <"$work/log" >"$work/lines"
	passed=$(grep -c '^    --- PASS: TestEveryMethodReachesItsFunction/' "$work/lines" || true)
	total=$(sed -n 's/.*: \([0-9]*\) functions on .*/\1/p' "$work/lines")
	echo "  $passed of ${total:-?} functions"
	if [ "$passed" != "${total:-none}" ]; then
		status=1
	fi
}

if [ $# -eq 0 ]; then
	set -- amd64 arm64 windows
fi
for part; do
	case $part in
	amd64 | arm64 | windows) "run_$part" ;;
	*) echo "unknown part $part" >&2; exit 2 ;;
	esac
done
exit $status
