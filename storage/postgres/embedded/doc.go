// Package embedded runs a real PostgreSQL for development and tests: the
// server binaries that are installed on the machine, started on a data
// directory of ours and reachable, unless TCP is asked for, only through a
// Unix socket that no other user may open. It is not for production.
//
// # The data directory
//
// [Options.DataDir] is created when it is missing and kept between runs:
//
//	data/      the PostgreSQL cluster (PGDATA)
//	sock/      the Unix socket, unless the path is too long for one or has a comma
//	password   the superuser's password, asked for only over TCP
//
// A cluster is created beside its final place and renamed into it, so a crash
// at the first start leaves nothing half made. A directory that is neither
// empty nor laid out like this is refused rather than taken over.
//
// # Crashes
//
// A lock on the directory, released by the kernel however its holder ends,
// admits one [Server] at a time: a second [Start] fails with [ErrInUse].
//
// If the parent process dies, Linux tells PostgreSQL to shut down. Where that
// does not happen, the next [Start] finds the orphan still running on the
// directory and stops it before it starts its own. It does not adopt it, as it
// could neither wait for it nor know its settings. If PostgreSQL itself was
// killed, the next [Start] or [Server.Restart] recovers the data, waiting for
// what is left of the old server to go away.
//
// # Root
//
// PostgreSQL refuses to run as root. Started by root, it runs as the user
// "postgres", or else "nobody", who then owns the data directory and must be
// able to reach it.
package embedded
