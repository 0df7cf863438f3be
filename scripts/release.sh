#!/bin/sh
# Makes the files of a release.
#
#   scripts/release.sh VERSION [FOLDER]     FOLDER must not exist yet; default: dist
#
# VERSION is that of cmd/nvtop-lite/main.go, and the tree is a commit. It needs Go,
# and the modules of scripts/release, which Go downloads once. The folder appears
# when everything is in it:
#
#   nvtop-lite-linux-ARCH           the file that runs on every Linux (see internal/twomode)
#   nvtop-lite-linux-ARCH-glibc     the plain one, for systems with glibc
#   nvtop-lite-windows-ARCH.exe
#   nvtop-lite-VERSION-OS-ARCH.*    an archive of it with manual page, completions and licences
#   *.deb, *.rpm                    packages with the plain file
#   LICENSE, NOTICE, THIRD-PARTY-LICENSES
#   nvtop-lite-VERSION.cdx.json     what they were made of (CycloneDX)
#   SHA256SUMS                      of all of these
#
# Environment, each may be missing:
#
#   SOURCE_DATE_EPOCH        the time of all files in it, in seconds since 1970 (the commit's)
#   NVTOP_LITE_SIGNING_KEY   a key of OpenSSH: SHA256SUMS.sig is made with it
#   NVTOP_LITE_URL           where the files will lie: nvtop-lite.json for Scoop is made then
#   NVTOP_LITE_HOMEPAGE      the project's page, for the packages (NVTOP_LITE_URL)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if ! command -v go >/dev/null; then
	echo "release: go is missing: https://go.dev/dl/" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
(
	unset GOOS GOARCH GOFLAGS
	CGO_ENABLED=0 GOWORK=off go -C "$root/scripts/release" build -buildvcs=false -o "$work/release" .
)
"$work/release" -root "$root" "$@"
