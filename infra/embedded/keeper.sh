# Runs one server until its last user is gone. See doc.go.
#
#   $1 file that every user of the server holds a shared lock on
#   $2 file that says where the server runs; there once the server was ready
#   $3 signal that stops the server
#   $4 … the server's command
#
# File descriptor 3 holds the keeper's own lock. The server inherits it: while it
# is locked, the keeper or its server lives, and no other may work on the files.
users=$1 state=$2 signal=$3
shift 3

stopping= waited= store=
trap 'stopping=1' USR1
trap '' INT TERM HUP

(
	trap - USR1
	exec 3<&- 9<"$users"
	# The lock comes when nobody uses the server any more. It is held until the
	# keeper has ended, so that a new user waits for the end of the stop. The word
	# is repeated: one that comes just before a wait does not wake the keeper.
	flock -x 9
	while kill -USR1 $$ 2>/dev/null; do sleep 0.1 9<&-; done
) &
waiter=$!

stop() {
	# Again and again: a signal that meets a process before it listens is lost.
	tries=0
	while kill -s "$signal" "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -gt 300 ] && kill -s KILL "$1"
		sleep 0.1
	done
}

deaths=0
while [ -z "$stopping" ]; do
	setpriv --pdeathsig "$signal" -- "$@" &
	store=$!
	while kill -0 "$store" 2>/dev/null; do
		if [ -n "$stopping" ] && [ -z "$waited" ]; then
			waited=1
			stop "$store" 3<&- &
		fi
		wait "$store"
	done
	[ -n "$stopping" ] && break
	# It died by itself. Before it was ready that is a failed start; afterwards it
	# is started again, but not for ever.
	[ -e "$state" ] || break
	deaths=$((deaths + 1))
	[ "$deaths" -gt 50 ] && break
	sleep 0.2
done
rm -f "$state"
kill -s KILL "$waiter" 2>/dev/null
