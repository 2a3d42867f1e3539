// Package pgtest gives tests real PostgreSQL databases.
//
// A package that uses it hands its tests to [Run]:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
//
// [Database] returns a fresh, migrated database on one server per test
// process, [Cluster] a private server to kill and restart, and [PgBouncer] a
// transaction pooler in front of a database. All may be called by parallel
// tests. Servers and files are gone when the process ends, in whatever way it
// ends.
//
// The environment can change what tests run on:
//
//	IDEMSVC_PG_BIN             the folder of the PostgreSQL programs to use
//	IDEMSVC_TEST_DATABASE_URL  a running server, whose role may create
//	                           databases, to use instead of starting one
//	IDEMSVC_TEST_PGBOUNCER     "off" skips the tests that need PgBouncer
package pgtest
