// Package embedded runs a private PostgreSQL and a private Redis for a data
// folder, so that the program works on a machine where nothing was set up.
//
// It owns the data folder: where the servers keep their files, which binaries
// run them, the random secret that signs tokens, and who may stop what.
//
// It promises:
//   - What was stored is there at the next start: PostgreSQL runs with fsync
//     on, Redis with its append-only file on and without eviction.
//   - All processes that use one data folder at the same time share one start,
//     and the servers run until the last of them is gone, whoever started them.
//   - When the last user is gone the servers stop, also when it was killed with
//     SIGKILL and could say nothing.
//   - Only this machine reaches them (127.0.0.1), each with a random password;
//     no other user of the machine can read it.
//
// How sharing works. Each server has one small keeper, the shell script in
// keeper.sh, which is the server's parent in a session of its own. Every user
// holds a shared flock on users.lock; the kernel takes it away when a process
// ends in whatever way. The keeper waits for that lock exclusively, and when it
// gets it there is no user left: it stops the server and ends. A user that
// arrives in that moment waits for the end and starts the server again. If the
// keeper itself is killed, its server gets the stop signal from the kernel. A
// server that dies while it has users is started again at the same address.
//
// Without a redis-server the gate may run on miniredis inside this process.
// That one is for a first look: it stores nothing, and it ends with the process
// that runs it even when others use it. A folder has one gate at a time: which
// kind is started is chosen only when none runs, what runs is joined.
//
// It refuses to run PostgreSQL as root (it drops to another user), to share a
// folder with a server of another major version, and to guess: what is missing
// is reported in one sentence.
//
// It needs Linux with flock and setpriv of util-linux.
package embedded
