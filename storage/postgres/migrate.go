package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one forward-only step of the schema.
type Migration struct {
	Version int64
	Name    string
	SQL     string
}

// Migrations lists all steps in order. Files are named NNNN_name.sql.
func Migrations() []Migration {
	entries, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		panic("postgres: " + err.Error()) // embedded at build time
	}
	var out []Migration
	for _, e := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		b, readErr := migrationFiles.ReadFile("migrations/" + e.Name())
		if !ok || err != nil || readErr != nil {
			panic("postgres: bad migration file " + e.Name())
		}
		out = append(out, Migration{Version: v, Name: name, SQL: string(b)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Version < out[j].Version })
	return out
}

// RequiredSchema is the oldest schema that this program works with.
func RequiredSchema() int64 {
	all := Migrations()
	return all[len(all)-1].Version
}

// SchemaVersion is the version of the database's schema, 0 for none.
func SchemaVersion(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var v int64
	err := pool.QueryRow(ctx, "SELECT COALESCE(max(version), 0) FROM idemsvc.schema_migration").Scan(&v)
	if undefined(err) {
		return 0, nil
	}
	return v, outside(err)
}

func undefined(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000")
}

// migrateLock serializes migrations: a number of our own, for a transaction-scoped
// advisory lock.
const migrateLock = 0x6964656d // "idem"

// MigrateOptions name the roles that get access. Empty names grant nothing.
type MigrateOptions struct {
	RuntimeRole string // reads and writes, no DDL: what the service runs as
	ReaderRole  string // reads all but the secret
}

// Migrate brings the schema up to date and returns the steps that it took. It needs a
// direct connection (no transaction pooler) of a role that may create the schema; that
// role owns it. Each step commits on its own, with its row in the history.
func Migrate(ctx context.Context, url string, o MigrateOptions) ([]Migration, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, outside(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var done []Migration
	for _, m := range Migrations() {
		took, err := step(ctx, conn, m)
		if err != nil {
			return done, fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
		}
		if took {
			done = append(done, m)
		}
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return grant(ctx, tx, o) })
	if err != nil {
		return done, fmt.Errorf("granting access: %w", err)
	}
	return done, nil
}

const historySQL = `CREATE SCHEMA IF NOT EXISTS idemsvc;
CREATE TABLE IF NOT EXISTS idemsvc.schema_migration (
    version    bigint PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

func step(ctx context.Context, conn *pgx.Conn, m Migration) (bool, error) {
	took := false
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, historySQL); err != nil {
			return err
		}
		var have bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM idemsvc.schema_migration WHERE version = $1)", m.Version).Scan(&have); err != nil || have {
			return err
		}
		if _, err := tx.Exec(ctx, m.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		took = true
		_, err := tx.Exec(ctx, "INSERT INTO idemsvc.schema_migration (version, name) VALUES ($1, $2)", m.Version, m.Name)
		return err
	})
	return took, err
}

// grant gives the runtime and the reader role what they need and no more.
func grant(ctx context.Context, tx pgx.Tx, o MigrateOptions) error {
	if o == (MigrateOptions{}) {
		return nil
	}
	tables, err := parents(ctx, tx)
	if err != nil {
		return err
	}
	var stmts []string
	if o.RuntimeRole != "" {
		r := pgx.Identifier{o.RuntimeRole}.Sanitize()
		stmts = append(stmts,
			"GRANT USAGE ON SCHEMA idemsvc TO "+r,
			"GRANT SELECT, INSERT, UPDATE, DELETE ON "+tables+" TO "+r,
			"REVOKE INSERT, UPDATE, DELETE ON idemsvc.schema_migration, idemsvc.secret FROM "+r,
			"REVOKE UPDATE, DELETE ON idemsvc.journal, idemsvc.policy FROM "+r,
			"GRANT USAGE, SELECT ON SEQUENCE idemsvc.fence TO "+r,
			"GRANT EXECUTE ON FUNCTION idemsvc.make_partitions(integer), idemsvc.retire(text, timestamptz) TO "+r)
	}
	if o.ReaderRole != "" {
		r := pgx.Identifier{o.ReaderRole}.Sanitize()
		stmts = append(stmts,
			"GRANT USAGE ON SCHEMA idemsvc TO "+r,
			"GRANT SELECT ON "+tables+" TO "+r,
			"REVOKE ALL ON idemsvc.secret FROM "+r)
	}
	for _, sql := range stmts {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// parents lists the tables that roles get access to, under the migration's lock.
// Partitions are not among them: whoever may reach one directly would pass by what the
// table forbids.
func parents(ctx context.Context, tx pgx.Tx) (string, error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
		return "", err
	}
	rows, err := tx.Query(ctx, `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'idemsvc' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for i, name := range names {
		names[i] = pgx.Identifier{"idemsvc", name}.Sanitize()
	}
	return strings.Join(names, ", "), err
}
