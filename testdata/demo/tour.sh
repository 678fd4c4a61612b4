#!/bin/sh
# A tour of mcpl on the MCP server that is built into it. Run by `make demo`:
#
#	sh testdata/demo/tour.sh bin/mcpl
#
# It needs no network and leaves nothing behind: its home, cache and configuration are in a
# temporary folder. It fails where mcpl does not do what the tour says.
set -eu

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
	echo "usage: sh testdata/demo/tour.sh PATH-OF-MCPL (make build makes bin/mcpl)" >&2
	exit 2
fi
mcpl=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

tour=$(mktemp -d "${TMPDIR:-/tmp}/mcpl-tour.XXXXXX")
trap 'rm -rf "$tour"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Nothing of the person who runs this may show up in the tour.
for name in $(env | sed -n 's/^\(MCPL_[A-Z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
export MCPL_DAEMON=off # nothing may be left running behind the tour
mkdir "$tour/home" "$tour/project"
export HOME="$tour/home" XDG_CONFIG_HOME="$tour/home/config"
export XDG_CACHE_HOME="$tour/home/cache" XDG_STATE_HOME="$tour/home/state"
cd "$tour/project"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

# say prints a paragraph of the tour.
say() {
	printf '\n%s\n' "$*"
}

# show prints a command as one would type it.
show() {
	printf '\n%s$ mcpl' "$bold"
	for word; do
		case $word in
		*[!A-Za-z0-9_./:=@,+-]* | '') printf " '%s'" "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '%s\n' "$plain"
}

# run shows a command and runs it. The first argument is the exit code that the tour promises.
run() {
	want=$1
	shift
	show "$@"
	code=0
	"$mcpl" "$@" 2>&1 || code=$?
	if [ "$code" -ne "$want" ]; then
		printf '\nThe tour ends here: exit code %s instead of %s.\n' "$code" "$want" >&2
		exit 1
	fi
	if [ "$want" -ne 0 ]; then
		printf '(exit code %s)\n' "$code"
	fi
}

# A path goes into a JSON string.
path=$(printf '%s' "$mcpl" | sed 's/[\\"]/\\&/g')
cat >.mcp.json <<END
{
  "mcpServers": {
    "example": {"command": "$path", "args": ["example-server"]}
  }
}
END

say "mcpl reads the configuration you already have. This folder's .mcp.json names one
server, which happens to be built into mcpl:"
printf '\n'
cat .mcp.json

say "A file that lies in a project could name any program, so a person approves its servers
first. At a terminal \`mcpl trust\` asks; a script says what it was shown."
run 0 trust --list
hash=$("$mcpl" trust --list | sed -n 's/^  hash: //p')
run 0 trust example --yes "$hash"

say "1. LIST. Ask the server once what it can do. From here on the answer comes from disk."
run 0 list --refresh

say "2. SEARCH. Say what you want. No server is started for this."
run 0 search "what time is it in Tokyo"
run 0 search "write down a reminder" --limit 2

say "An agent asks the same with --json, and gets one small document."
run 0 --json search "checksum of a text" --limit 2

say "3. INSPECT. Read how a tool is called, before you call it. Still no server."
run 0 inspect example convert_time --example

say "4. CALL. Now the server is started, asked and stopped again; outside of this tour a
daemon keeps it for the next call. Arguments are key=value pairs, typed by the tool's
schema ..."
run 0 call example current_time timezone=Asia/Tokyo

say "... or one JSON object, where they are nested or come from a program."
run 0 call example convert_time '{"time": "2026-03-02 15:30", "from": "Europe/Berlin", "to": ["Asia/Tokyo", "America/New_York"]}'

say "With --jq only the part of the result that you need comes back."
run 0 --json call example convert_time time=15:30 'to:=["Asia/Tokyo"]' --jq '.times[0].utc_offset'

say "What a tool stores stays with it. A picture becomes a file."
run 0 call example add_note title="Water the plants" 'tags:=["home"]'
run 0 call example search_notes query=plants --jq '.notes[].title'
run 0 call example draw_chart 'points:=[{"label": "Mon", "value": 3}, {"label": "Tue", "value": 5}]' --output-dir charts

say "5. WHEN IT GOES WRONG. Wrong arguments are found before anything is started, all of
them at once, with what would have been right."
run 2 call example convert_units value=ten form=mi to=km

say "A tool that fails makes the command fail, so that scripts and agents notice."
run 1 call example calculate 'expression=2 * (3 +'

say "And a name that is nearly right is enough to get the right one."
run 3 call example curent_time

say "Those are the three verbs: search, inspect, call. Try them on your own servers: mcpl list
--refresh. What else there is, such as logins, resources and prompts: mcpl --help"
