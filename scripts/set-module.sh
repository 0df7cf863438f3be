#!/bin/sh
# Gives the module another path, everywhere, and runs the tests.
#
#   scripts/set-module.sh [--no-test] PATH      such as example.org/me/nvtop-lite
#
# What changes: the module lines, requirements and replacements of every go.mod,
# and the paths of packages in all other text. The program's name and the schemas
# of its output stay.
set -eu
cd "$(dirname "$0")/.."

usage() {
	sed -n 's/^# *\(scripts.set-module.*\)/usage: \1/p' "$0" >&2
	exit 2
}
test=yes new=
for arg; do
	case $arg in
	--no-test) test=no ;;
	-*) usage ;;
	*)
		[ -z "$new" ] || usage
		new=$arg
		;;
	esac
done
case $new in
'' | /* | */ | *//* | *[!A-Za-z0-9._~/-]*) usage ;;
esac

old=$(sed -n 's/^module //p' go.mod)
if [ "$old" = "$new" ]; then
	echo "the module is $new already"
	exit 0
fi

# Folders with packages: "OLD/monitor" is an import, "OLD/1" may be a schema.
rooms=$(find . -mindepth 2 -name '*.go' ! -path './.*' | cut -d/ -f2 | sort -u | tr '\n' '|' | sed 's/|$//')
pattern=$(printf '%s\n' "$old" | sed 's/\./\\./g')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# edit FILE EXPRESSION... keeps the file's mode, and its time where nothing changes.
edit() {
	file=$1
	shift
	sed -E "$@" "$file" >"$work/new"
	if ! cmp -s "$work/new" "$file"; then
		cat "$work/new" >"$file"
	fi
}

find . -name go.mod ! -path './.*' >"$work/mods"
while read -r file; do
	edit "$file" \
		-e "s#^module $pattern(/|\$)#module $new\\1#" \
		-e "s#^((require )?[[:space:]]*)$pattern(/[^ ]*)? (v[0-9])#\\1$new\\3 \\4#" \
		-e "s#^(replace[[:space:]]+)$pattern(/[^ ]*)?( +=>)#\\1$new\\2\\3#"
done <"$work/mods"

# The path of a package stands by itself: in quotes, or at the start of a line. A
# longer path, of which it is a part, is another one.
before='(^|[^A-Za-z0-9._~/-])' after='([^A-Za-z0-9._~-]|$)'
find . -type f ! -path './.git/*' ! -name go.mod ! -path ./scripts/set-module.sh -exec grep -IlF "$old" {} + >"$work/files"
while read -r file; do
	edit "$file" \
		-e "s#$before$pattern/($rooms)$after#\\1$new/\\2\\3#g" \
		-e "s#([\"\`]module )$pattern([\"\`])#\\1$new\\2#g" \
		-e "s#(-require=|-replace=|require |replace )$pattern([@= ])#\\1$new\\2#g"
done <"$work/files"

# Imports are sorted by path.
find . -name '*.go' ! -path './.*' -exec gofmt -w {} +

if [ "$(sed -n 's/^module //p' go.mod)" != "$new" ]; then
	echo "go.mod could not be changed" >&2
	exit 1
fi
while read -r file; do
	grep -HnE "$before$pattern/($rooms)$after" "$file" || true
done <"$work/files" >"$work/left"
while read -r file; do
	grep -HnE "(^|[[:space:]])$pattern(/[^ ]*)?([[:space:]]|\$)" "$file" || true
done <"$work/mods" >>"$work/left"
if [ -s "$work/left" ]; then
	cat "$work/left"
	echo "these lines still have the old path" >&2
	exit 1
fi
echo "the module is $new now; it was $old"
if [ $test = yes ]; then
	exec scripts/test.sh
fi
