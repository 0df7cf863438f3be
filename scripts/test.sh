#!/bin/sh
# Builds and tests everything.
#
#   scripts/test.sh [PART...]     default: all parts; --list prints their names
#
# It needs Go, and for some parts a few Debian packages. With CI=true it
# installs those that are missing, and a part that cannot run has failed.
# Otherwise such a part is left out, with one line that says how to get it.
#
# FUZZTIME is the time of each fuzz target (default 2s). GOTEST holds further
# flags for "go test", such as -count=1.
set -eu
cd "$(dirname "$0")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.7.0
floor=go$(sed -n 's/^go //p' go.mod)
targets="linux/amd64 linux/arm64 windows/amd64 windows/arm64 darwin/arm64 freebsd/amd64"
left_out_status=77

parts="format vet staticcheck generated tidy rules build floor needed
	test schemas race plain-frames checkptr modules
	echo-amd64 echo-arm64 echo-windows arm64 windows release fuzz bench"

if [ "${1:-}" = --list ]; then
	printf '%s\n' $parts
	exit 0
fi

work=$(mktemp -d)
cleanup() {
	if [ -d "$work/prefix" ]; then
		WINEPREFIX="$work/prefix" wineserver -k >/dev/null 2>&1 || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# A checkout that belongs to someone else must build too, and what the caller
# set for other builds must not change these. The race detector asks for cgo
# itself; everything else is built the way it is shipped.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" CGO_ENABLED=0 GOWORK=off
unset GOOS GOARCH

### Tools

# packages lists TOOL PACKAGES... for what the parts need besides Go.
packages() {
	cat <<-'END'
		gcc gcc libc6-dev
		x86_64-linux-gnu-gcc gcc
		readelf binutils
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
		qemu-aarch64 qemu-user
		qemu-aarch64-static qemu-user-static
		musl-gcc musl-tools
		chroot coreutils
		unshare util-linux
		x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
		wine wine wine64
		wineserver wine wine64
		tmux tmux
		script bsdutils
		bash bash
		zsh zsh
		fish fish
		mandoc mandoc
		setsid util-linux
		fsfreeze util-linux
		losetup mount
		mount mount
		mkfs.ext4 e2fsprogs
		git git
		dpkg-deb dpkg
		rpm rpm
		ssh-keygen openssh-client
		sha256sum coreutils
	END
}

package_of() {
	packages | while read -r tool names; do
		if [ "$tool" = "$1" ]; then
			echo "$names"
		fi
	done
}

install_missing() {
	missing=$(packages | while read -r tool names; do
		command -v "$tool" >/dev/null 2>&1 || echo "$names"
	done | tr '\n' ' ')
	if [ -z "$missing" ]; then
		return
	fi
	echo "installing $missing"
	sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo="sudo -n"
	fi
	# What cannot be installed shows as a failed part below.
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq || true
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing || true
}

# need TOOL... ends the part where a tool is missing.
need() {
	for tool; do
		if ! command -v "$tool" >/dev/null 2>&1; then
			leave_out "$tool is missing: apt-get install --no-install-recommends $(package_of "$tool")"
		fi
	done
}

leave_out() {
	echo "$*"
	echo "$*" >"$work/reason"
	exit $left_out_status
}

# nested prints the folders of the modules inside this one.
nested() {
	find . -mindepth 2 -name go.mod ! -path '*/testdata/*' ! -path './.*' | sed 's|/go.mod$||' | sort
}

### Parts

part_format() {
	list=$(find . -name '*.go' ! -path './.*' -exec gofmt -s -l {} +)
	if [ -n "$list" ]; then
		echo "gofmt -s would change:" "$list"
		return 1
	fi
	for script in scripts/*.sh; do
		sh -n "$script"
	done
}

part_vet() {
	for target in $targets; do
		echo "$target"
		GOOS=${target%/*} GOARCH=${target#*/} go vet ./...
	done
	for dir in $(nested); do
		if [ "$dir" = ./bench ]; then
			continue # has cgo: part bench
		fi
		echo "$dir"
		(cd "$dir" && go vet ./...)
	done
}

part_staticcheck() {
	GOBIN="$work/bin" go install "$staticcheck"
	for os in linux windows darwin; do
		echo "$os"
		GOOS=$os "$work/bin/staticcheck" ./...
	done
	for dir in $(nested); do
		if [ "$dir" = ./bench ]; then
			continue
		fi
		echo "$dir"
		(cd "$dir" && "$work/bin/staticcheck" ./...)
	done
}

part_generated() {
	go -C scripts run . -check
	go -C scripts/winres run . -check
	go test -run Fresh ./cmd/nvtop-lite # completions and the manual page
}

# The generator's own module is left out: to tidy it would download the test
# data of a C compiler.
part_tidy() {
	go mod tidy -diff
	for dir in $(nested); do
		if [ "$dir" != ./scripts ]; then
			echo "$dir"
			go -C "$dir" mod tidy -diff
		fi
	done
	go mod verify
}

# shellcheck disable=SC2086
part_rules() {
	go test ${GOTEST:-} ./internal/rules
}

part_build() {
	for target in $targets; do
		echo "$target"
		GOOS=${target%/*} GOARCH=${target#*/} go build -trimpath -o "$work/build/" ./...
	done
}

# The lowest Go that go.mod promises must be enough.
part_floor() {
	if ! GOTOOLCHAIN=$floor go version; then
		if [ "${CI:-}" != true ]; then
			leave_out "$floor is missing and could not be downloaded: go install golang.org/dl/$floor@latest"
		fi
		return 1
	fi
	GOTOOLCHAIN=$floor go build -o "$work/build/" ./...
	GOTOOLCHAIN=$floor go vet ./...
}

# The binary asks for the C library by its oldest names, so that it runs on any
# glibc.
part_needed() {
	need readelf
	for arch in amd64 arm64; do
		GOOS=linux GOARCH=$arch go build -trimpath -ldflags="-s -w" -o "$work/needed" ./cmd/nvtop-lite
		got=$(readelf -dW "$work/needed" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
		want="libc.so.6 libdl.so.2 libpthread.so.0 "
		if [ "$got" != "$want" ]; then
			echo "$arch: NEEDED is $got; want $want"
			return 1
		fi
		if readelf -VW "$work/needed" | grep -q 'Version needs'; then
			echo "$arch: symbols with versions:"
			readelf -VW "$work/needed"
			return 1
		fi
		size=$(wc -c <"$work/needed")
		echo "$arch: $size bytes, needs $got"
		if [ "$size" -ge 5242880 ]; then
			echo "$arch: larger than 5 MiB"
			return 1
		fi
	done
}

# What the tests make of JSON is kept for part schemas.
# shellcheck disable=SC2086
part_test() {
	mkdir -p "$work/kept"
	NVTOP_LITE_KEPT_JSON="$work/kept" go test ${GOTEST:-} ./...
}

# The JSON that tests made, and that of the program, fits the schemas in docs.
# shellcheck disable=SC2086
part_schemas() {
	if [ ! -d "$work/kept" ]; then
		mkdir "$work/kept"
		export NVTOP_LITE_KEPT_JSON="$work/kept"
		go test ${GOTEST:-} ./monitor/report ./monitor/demo ./monitor/summary ./monitor/diff
		go test ${GOTEST:-} -run 'Generations|NoGPU|Visible|DoctorPages|Demo' ./cmd/nvtop-lite
	fi
	cd internal/schematest
	NVTOP_LITE_KEPT_JSON="$work/kept" go test ${GOTEST:-} ./...
}

# shellcheck disable=SC2086
part_race() {
	need gcc
	CGO_ENABLED=1 go test -race ${GOTEST:-} ./...
}

# Without optimisation stack frames are large and nothing is inlined: what holds
# an address that C writes to must hold then, too.
# shellcheck disable=SC2086
part_plain_frames() {
	need gcc
	go test -gcflags='all=-N -l' ${GOTEST:-} ./nvml/...
}

# shellcheck disable=SC2086
part_checkptr() {
	need gcc
	go test -gcflags=all=-d=checkptr ${GOTEST:-} ./nvml/...
}

# shellcheck disable=SC2086
part_modules() {
	for dir in $(nested); do
		case $dir in
		./bench | ./internal/schematest) continue ;; # parts of their own
		esac
		echo "$dir"
		(cd "$dir" && go test ${GOTEST:-} ./...)
	done
}

part_echo_amd64() {
	need gcc
	sh scripts/test-targets.sh amd64
}

part_echo_arm64() {
	need aarch64-linux-gnu-gcc qemu-aarch64
	sh scripts/test-targets.sh arm64
}

part_echo_windows() {
	need x86_64-w64-mingw32-gcc wine wineserver
	sh scripts/test-targets.sh windows
}

# What is portable or calls C, on other systems. The program as a whole is run
# on them by the tests of cmd/nvtop-lite.
elsewhere="./nvml/... ./internal/fakenvml ./monitor ./monitor/driver ./monitor/report ./monitor/screen"

# shellcheck disable=SC2086
part_arm64() {
	need aarch64-linux-gnu-gcc qemu-aarch64
	go run ./internal/fakenvml/build -os linux -arch arm64 -out "$work/fake-arm64"
	aarch64-linux-gnu-gcc -shared -fPIC -O1 -o "$work/echo-arm64.so" internal/abi/echo.c
	FAKENVML_DIR="$work/fake-arm64" NVML_ECHO_LIBRARY="$work/echo-arm64.so" GOARCH=arm64 \
		go test -exec "qemu-aarch64 -L /usr/aarch64-linux-gnu" ${GOTEST:-} $elsewhere
}

# shellcheck disable=SC2086
part_windows() {
	need x86_64-w64-mingw32-gcc wine wineserver script
	go run ./internal/fakenvml/build -os windows -arch amd64 -out "$work/fake-windows"
	x86_64-w64-mingw32-gcc -shared -O1 -o "$work/echo.dll" internal/abi/echo.c
	export WINEPREFIX="$work/prefix" WINEDEBUG=-all WINEARCH=win64
	# Wine's server ends a few seconds after the last program, and one that comes
	# just then finds its connection reset. This one stays.
	mkdir "$WINEPREFIX"
	wineserver -p900 </dev/null >/dev/null 2>&1
	wine wineboot -i >/dev/null 2>&1
	# Programs of today's Go ask for a library that older Wines lack.
	x86_64-w64-mingw32-gcc -shared -O1 -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" \
		scripts/testdata/bcryptprimitives.c -ladvapi32
	# What Wine starts beside the first program outlives that one, for as long as
	# others run, and must not hold a pipe that go test waits for.
	cat >"$work/in-wine" <<-'END'
		#!/bin/sh
		log=$(mktemp)
		wine "$@" </dev/null >"$log" 2>&1
		status=$?
		cat "$log"
		rm "$log"
		exit $status
	END
	chmod +x "$work/in-wine"
	FAKENVML_DIR="Z:$work/fake-windows" NVML_ECHO_LIBRARY="Z:$work/echo.dll" GOOS=windows GOARCH=amd64 \
		go test -exec "$work/in-wine" ${GOTEST:-} $elsewhere ./monitor/apart
	# The console's modes need a console.
	GOOS=windows GOARCH=amd64 go test -c -o "$work/ansi.test.exe" ./internal/ansi
	if ! (cd internal/ansi && script -qec "wine $work/ansi.test.exe" /dev/null </dev/null >"$work/log" 2>&1); then
		cat -v "$work/log"
		return 1
	fi
}

# copy_tree copies to a folder what is, or would be, in a commit.
copy_tree() {
	mkdir -p "$1"
	git -c safe.directory="$PWD" ls-files -co --exclude-standard | while IFS= read -r file; do
		if [ -e "$file" ]; then
			echo "$file"
		fi
	done | tar -cf - -T - | tar -xf - -C "$1"
}

# Two people with different habits, in different folders, make the same release,
# byte by byte. What was compiled for the first one Go takes for the second one as
# well, since -trimpath leaves no folder in it.
part_release() {
	need git dpkg-deb rpm ssh-keygen sha256sum
	version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' cmd/nvtop-lite/main.go)
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key"
	export SOURCE_DATE_EPOCH=1764500000 NVTOP_LITE_SIGNING_KEY="$work/key" NVTOP_LITE_URL=https://example.org/release
	(
		umask 022
		export TZ=UTC LC_ALL=C
		copy_tree "$work/one"
		"$work/one/scripts/release.sh" "$version"
	)
	(
		umask 077
		export TZ=Asia/Tokyo LC_ALL=C.UTF-8 GOFLAGS="-buildvcs=false -tags=other -ldflags=-X=main.x=y" GOOS=windows GOAMD64=v3 CGO_ENABLED=1 HOSTNAME=other
		copy_tree "$work/another folder/two"
		cd "$work"
		"another folder/two/scripts/release.sh" "$version" released
	)
	diff -r "$work/one/dist" "$work/released"

	# As README.md says it.
	verify=$(grep '^ssh-keygen -Y verify' README.md)
	check=$(grep '^sha256sum -c' README.md)
	(
		cd "$work/released"
		{
			printf 'nvtop-lite '
			cut -d ' ' -f 1,2 "$work/key.pub"
		} >"$work/allowed_signers"
		sha256sum --quiet -c SHA256SUMS
		mkdir "$work/copied"
		cp SHA256SUMS SHA256SUMS.sig nvtop-lite-linux-amd64 "$work/allowed_signers" "$work/copied"
		cd "$work/copied"
		eval "$verify"
		eval "$check"
		sed "s/^[0-9a-f]*/$(printf %064d 0)/" SHA256SUMS >changed
		mv changed SHA256SUMS
		if eval "$verify" 2>/dev/null || eval "$check" 2>/dev/null; then
			echo "changed sums pass"
			exit 1
		fi
	)
	NVTOP_LITE_TEST_RELEASE="$work/released" go -C scripts/release test -count=1 -run TestReleased .
}

# fuzz_module runs each fuzz target of the module in the working folder.
fuzz_module() {
	go test -list '^Fuzz' ./... >"$work/list"
	awk '/^Fuzz/ { names = names " " $1 } /^ok/ { if (names) print $2 names; names = "" }' "$work/list" >"$work/targets"
	while read -r package names; do
		for name in $names; do
			if ! go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-2s}" -fuzzminimizetime 5s "$package" >"$work/log" 2>&1 </dev/null; then
				# The end of the time alone is no failure, though Go sometimes says so.
				if grep -q 'Failing input written' "$work/log" || ! grep -q '^    context deadline exceeded' "$work/log"; then
					cat "$work/log"
					return 1
				fi
			fi
			echo "$package $name $(sed -n 's/.*\(execs: [0-9]*\).*/\1/p' "$work/log" | tail -n 1)"
		done
	done <"$work/targets"
}

part_fuzz() {
	fuzz_module
	for dir in $(nested); do
		if [ "$dir" != ./bench ]; then
			(cd "$dir" && fuzz_module)
		fi
	done
}

# The benchmarks compare with cgo; once each shows that they still run.
# shellcheck disable=SC2086
part_bench() {
	need gcc
	cd bench
	export CGO_ENABLED=1
	go vet ./...
	go test ${GOTEST:-} -bench . -benchtime 1x ./...
}

### Running them

if [ "${CI:-}" = true ]; then
	install_missing
fi
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2086
	set -- $parts
fi
for part; do
	case " $(printf '%s ' $parts)" in
	*" $part "*) ;;
	*)
		echo "no part $part; there are" $parts >&2
		exit 2
		;;
	esac
done
passed=0 failed=0 failed_parts='' begun=$(date +%s)
: >"$work/left-out"
for part; do
	function=part_$(echo "$part" | tr - _)
	echo "=== $part"
	start=$(date +%s)
	# A subshell, so that each part stops at its first error and the next begins.
	set +e
	(
		set -e
		"$function"
	) </dev/null
	status=$?
	set -e
	took=$(($(date +%s) - start))
	if [ $status -eq 0 ]; then
		passed=$((passed + 1))
		echo "--- $part passed, $took s"
	elif [ $status -eq $left_out_status ] && [ "${CI:-}" != true ]; then
		echo "$part: $(cat "$work/reason")" >>"$work/left-out"
	else
		failed=$((failed + 1)) failed_parts="$failed_parts $part"
		echo "--- $part FAILED, $took s"
	fi
done

echo "=== $(($(date +%s) - begun)) s"
sed 's/^/left out: /' "$work/left-out"
if [ $failed -gt 0 ]; then
	echo "failed:$failed_parts"
fi
echo "parts: $passed passed, $failed failed"
[ $failed -eq 0 ]
