package inbox

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// defaultTable is the table's name where [WithTable] names no other.
const defaultTable = "idemsvc_inbox"

// names are what a table may be called: plain identifiers, with room for those of its
// indexes, after the name of a schema if there is one.
var names = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,47}$`)

func checkTable(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("inbox: the table's name %q is not of the form name or schema.name, of a-z, 0-9 and _, name with at most 48 of them", name)
	}
	return nil
}

// Schema is the SQL that makes the table and its indexes, for a migration of your own. It
// changes nothing where they exist.
func (b *Inbox[Tx]) Schema() string { return strings.Join(b.ddl(), ";\n\n") + ";\n" }

// ddl is one statement each.
func (b *Inbox[Tx]) ddl() []string {
	index := b.table[strings.LastIndex(b.table, ".")+1:]
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + b.table + ` (
    id           bytea PRIMARY KEY,       -- 16 bytes of SHA-256 over the four parts of the key
    namespace    text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    consumer     text COLLATE "C" NOT NULL,
    fence        bigint NOT NULL,         -- the newest claim that began; 0: none did
    round        bigint NOT NULL,         -- the claim's round, which a replay begins anew; 0: no claim
    changed_at   timestamptz NOT NULL,
    processed_at timestamptz,             -- null: a claim began, and nothing is committed
    result       bytea,
    content_type text NOT NULL DEFAULT '',
    outputs      jsonb,                   -- names of business rows
    report       bytea                    -- what is still to be told to the service; null: nothing
)`,
		`CREATE INDEX IF NOT EXISTS ` + index + `_changed_at ON ` + b.table + ` (changed_at)`,
		`CREATE INDEX IF NOT EXISTS ` + index + `_report ON ` + b.table + ` (id) WHERE report IS NOT NULL`,
	}
}

// EnsureSchema makes the table and its indexes if they are missing, in a transaction. It may
// be called by many processes at once. The role needs the right to create tables; without it
// let a migration run [Inbox.Schema].
func (b *Inbox[Tx]) EnsureSchema(ctx context.Context) error {
	err := b.inTx(ctx, func(tx Tx) error {
		// IF NOT EXISTS alone fails for all but one of those that come at once.
		if _, err := b.db.Exec(ctx, tx, `SELECT pg_advisory_xact_lock(hashtext('idemsvc inbox'), hashtext('`+b.table+`'))`); err != nil {
			return err
		}
		for _, statement := range b.ddl() {
			if _, err := b.db.Exec(ctx, tx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("inbox: make the table %s: %w", b.table, err)
	}
	return nil
}
