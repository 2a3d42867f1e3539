package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
			prepare: func() (settings, action) {
				return nil, func(_ context.Context, args []string) error {
					for _, m := range postgres.Migrations() {
						fmt.Fprintf(c.stdout, "-- %04d_%s\n%s\n", m.Version, m.Name, m.SQL)
					}
					return noArguments(args)
				}
			},
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

func (c *cli) migrateUp() (settings, action) {
	cfg, o := &databaseConfig{}, postgres.MigrateOptions{}
	s := append(cfg.settings(), settings{
		{
			flag: "runtime-role", env: "IDEMSVC_RUNTIME_ROLE", arg: "ROLE", set: text(&o.RuntimeRole),
			doc: "Role that the server runs as: gets what it needs, without the right to change the schema.",
		},
		{
			flag: "reader-role", env: "IDEMSVC_READER_ROLE", arg: "ROLE", set: text(&o.ReaderRole),
			doc: "Role that may read everything but the secret.",
		},
	}...)
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return c.with(ctx, cfg, func(ctx context.Context, db *database) error {
			done, err := postgres.Migrate(ctx, db.url, o)
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

func (c *cli) migrateStatus() (settings, action) {
	cfg := &databaseConfig{}
	return cfg.settings(), func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return c.with(ctx, cfg, func(ctx context.Context, db *database) error {
			pool, err := db.pool(ctx, 1)
			if err != nil {
				return err
			}
			defer pool.Close()
			have, err := postgres.SchemaVersion(ctx, pool)
			if err != nil {
				return err
			}
			need := postgres.RequiredSchema()
			fmt.Fprintf(c.stdout, "database: schema %d, this program: schema %d\n", have, need)
			if have < need {
				return fmt.Errorf("%w: run «idemsvc migrate up»", storage.ErrSchema)
			}
			return nil
		})
	}
}

func (c *cli) newEpoch() (settings, action) {
	cfg := &databaseConfig{}
	return cfg.settings(), func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return c.with(ctx, cfg, func(ctx context.Context, db *database) error {
			pool, err := db.pool(ctx, 1)
			if err != nil {
				return err
			}
			defer pool.Close()
			epoch, err := postgres.NewEpoch(ctx, pool)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "epoch %d has begun\n", epoch)
			return nil
		})
	}
}
