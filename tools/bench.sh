#!/usr/bin/env bash
# Compares the benchmarks of the working tree with those of another revision: builds the test binaries of both, runs
# them in turn, so that what else the machine does falls on both, and lets benchstat judge.
#
#   BASE       the revision to compare with; if unset, where this branch left origin/main, else the last commit but one
#   COUNT      how often each benchmark runs (6, the fewest that benchstat can judge)
#   BENCH      which benchmarks, a regular expression (.)
#   PKG        the packages with benchmarks (all of pkg/ that have some)
#   BENCHTIME  how long each runs, as `go test -benchtime` takes it (300ms)
#
# The result goes to stdout, what is being done to stderr. Nothing is left behind, also after Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

GO=${GO:-go} COUNT=${COUNT:-6} BENCH=${BENCH:-.} BENCHTIME=${BENCHTIME:-300ms}

# base prints the revision to compare with.
base() {
	local fork
	if [ -n "${BASE:-}" ]; then
		git rev-parse --verify --quiet "$BASE^{commit}" || { echo "no such revision: $BASE" >&2; return 1; }
	elif fork=$(git merge-base HEAD origin/main 2>/dev/null) && [ "$fork" != "$(git rev-parse HEAD)" ]; then
		echo "$fork"
	else
		git rev-parse --verify HEAD~1
	fi
}

# packages prints the folders of a tree whose tests have benchmarks.
packages() {
	(cd "$1" && grep -rl --include='*_test.go' '^func Benchmark' ${PKG:-pkg} | xargs -r -n1 dirname | sort -u)
}

# in_turn runs a command that a signal to this script ends too.
in_turn() {
	"$@" &
	child=$!
	wait "$child"
	child=
}

clean() {
	set +e
	trap '' INT TERM
	if [ -n "$child" ]; then kill "$child" 2>/dev/null; wait "$child"; fi
	cd "$root"
	[ ! -e "$dir/base" ] || git worktree remove --force "$dir/base"
	rm -rf "$dir"
}

base=$(base)
benchstat=$("$GO" -C tools tool -n benchstat)
child=
dir=$(mktemp -d)
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

git worktree add --quiet --detach "$dir/base" "$base"
ln -s "$root" "$dir/head"
declare -A built
for side in base head; do
	mkdir "$dir/$side.bin"
	for pkg in $(packages "$dir/$side/"); do
		echo "building $pkg of $side" >&2
		cd "$dir/$side"
		in_turn "$GO" test -c -o "$dir/$side.bin/${pkg//\//-}.test" "./$pkg"
		cd "$root"
		built[$pkg]+=" $side"
	done
	: >"$dir/$side.txt"
done

for ((round = 1; round <= COUNT; round++)); do
	for pkg in $(printf '%s\n' "${!built[@]}" | sort); do
		# The side that runs first changes, since the second finds a warmer processor.
		sides=${built[$pkg]}
		((round % 2)) || sides=$(printf '%s\n' $sides | tac)
		for side in $sides; do
			echo "round $round of $COUNT: $pkg of $side" >&2
			cd "$dir/$side/$pkg"
			in_turn "$dir/$side.bin/${pkg//\//-}.test" -test.run '^$' -test.bench "$BENCH" -test.benchmem \
				-test.benchtime "$BENCHTIME" >>"$dir/$side.txt"
			cd "$root"
		done
	done
done

echo "base: $(git log -1 --format='%h %s' "$base")"
echo "head: $(git log -1 --format='%h %s')$([ -z "$(git status --porcelain)" ] || echo ', with changes')"
cd "$dir"
if [ -s base.txt ]; then "$benchstat" base=base.txt head=head.txt; else "$benchstat" head=head.txt; fi
