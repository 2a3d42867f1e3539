// Package inbox_test follows events through the inbox from outside: webhooks over HTTP, the
// client's workers, a server over PostgreSQL.
package inbox_test

import (
	"os"
	"testing"

	"github.com/idemsvc/idemsvc/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
