package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

func (c *cli) migrateCommands() []command {
	return []command{
		{
			name: "migrate up", brief: "Bring the database's schema up to date",
			about:   "Needs a direct connection, no transaction pooler, of a role that may create the schema and then owns it. Servers of the version before go on working meanwhile. Running it again grants the roles again and changes nothing else.",
			prepare: c.migrateUp,
		},
		{
			name: "migrate status", brief: "Tell which schema the database has and which this program needs",
			about:   "Ends with code 1 where the database's schema is older than this program needs.",
			prepare: c.migrateStatus,
		},
		{
			name: "migrate print", brief: "Print the SQL of all migrations, for review",
			prepare: c.migratePrint,
		},
		{
			name: "migrate new-epoch", brief: "Begin a new epoch of fences after a copy or restore of the database",
			about:   "Needed by hand where the database itself cannot know that it is a copy or was put back: its cluster and timeline are the same, but numbers that it gave before are forgotten. Tokens and fences of the new epoch are above all earlier ones, and running claims get their whole lease again. The role must be the one that migrates.",
			prepare: c.newEpoch,
		},
	}
}

// with opens the database for one command and closes it afterwards.
func (c *cli) with(ctx context.Context, cfg *databaseConfig, f func(ctx context.Context, db *database) error) (err error) {
	db, err := cfg.open(ctx, 4, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx))) }()
	return f(ctx, db)
}

// withPool opens a database that exists for one command, and closes it afterwards.
func (c *cli) withPool(ctx context.Context, cfg *databaseConfig, args []string, f func(ctx context.Context, pool *pgxpool.Pool) error) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if err := cfg.mustExist(); err != nil {
		return err
	}
	return c.with(ctx, cfg, func(ctx context.Context, db *database) error {
		pool, err := db.pool(ctx, 1, nil)
		if err != nil {
			return err
		}
		defer pool.Close()
		return f(ctx, pool)
	})
}

// migrationJSON is a migration for scripts.
type migrationJSON struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"sql,omitempty"`
}

func (c *cli) migrateUp() (settings, action) {
	cfg, o := &databaseConfig{}, postgres.MigrateOptions{}
	asJSON := false
	s := append(cfg.settings(), settings{
		{
			flag: "runtime-role", env: "IDEMSVC_RUNTIME_ROLE", arg: "ROLE", set: text(&o.RuntimeRole),
			doc: "Role that the server runs as: gets what it needs, without the right to change the schema.",
		},
		{
			flag: "reader-role", env: "IDEMSVC_READER_ROLE", arg: "ROLE", set: text(&o.ReaderRole),
			doc: "Role that may read everything but the secret.",
		},
		jsonFlag(&asJSON),
	}...)
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return c.with(ctx, cfg, func(ctx context.Context, db *database) error {
			done, err := postgres.Migrate(ctx, db.url, o)
			if err == nil && asJSON {
				out := struct {
					Applied []migrationJSON `json:"applied"`
					Schema  int64           `json:"schema"`
				}{[]migrationJSON{}, postgres.RequiredSchema()}
				for _, m := range done {
					out.Applied = append(out.Applied, migrationJSON{Version: m.Version, Name: m.Name})
				}
				return c.print(true, out, "")
			}
			for _, m := range done {
				fmt.Fprintf(c.stdout, "applied %04d_%s\n", m.Version, m.Name)
			}
			if err == nil && len(done) == 0 {
				fmt.Fprintf(c.stdout, "schema %d: nothing to do\n", postgres.RequiredSchema())
			}
			return err
		})
	}
}

func (c *cli) migratePrint() (settings, action) {
	asJSON := false
	return settings{jsonFlag(&asJSON)}, func(_ context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		out := make([]migrationJSON, 0, len(postgres.Migrations()))
		for _, m := range postgres.Migrations() {
			out = append(out, migrationJSON{m.Version, m.Name, m.SQL})
			if !asJSON {
				fmt.Fprintf(c.stdout, "-- %04d_%s\n%s\n", m.Version, m.Name, m.SQL)
			}
		}
		if asJSON {
			return c.print(true, out, "")
		}
		return nil
	}
}

func (c *cli) migrateStatus() (settings, action) {
	cfg := &databaseConfig{}
	asJSON := false
	return append(cfg.settings(), jsonFlag(&asJSON)), func(ctx context.Context, args []string) error {
		return c.withPool(ctx, cfg, args, func(ctx context.Context, pool *pgxpool.Pool) error {
			have, err := postgres.SchemaVersion(ctx, pool)
			if err != nil {
				return err
			}
			need := postgres.RequiredSchema()
			out := struct {
				Schema   int64 `json:"schema"`
				Required int64 `json:"required"`
				Current  bool  `json:"current"`
			}{have, need, have >= need}
			err = c.print(asJSON, out, "database: schema %d, this program: schema %d\n", have, need)
			if err == nil && have < need {
				return fmt.Errorf("%w: run «idemsvc migrate up»", storage.ErrSchema)
			}
			return err
		})
	}
}

func (c *cli) newEpoch() (settings, action) {
	cfg := &databaseConfig{}
	asJSON := false
	return append(cfg.settings(), jsonFlag(&asJSON)), func(ctx context.Context, args []string) error {
		return c.withPool(ctx, cfg, args, func(ctx context.Context, pool *pgxpool.Pool) error {
			epoch, err := postgres.NewEpoch(ctx, pool)
			if err != nil {
				return err
			}
			return c.print(asJSON, map[string]int64{"epoch": epoch}, "epoch %d has begun\n", epoch)
		})
	}
}
