package idemsvc_test

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/idemsvc/idemsvc/"

// dependencies are the packages that an import pulls in.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// Whoever imports the client pulls in neither a database driver nor the server nor what
// serves JSON over HTTP, and telemetry only by its own package. The inbox brings database/sql,
// and pgx only where that is asked for.
func TestTheClientStandsAlone(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"clients/go": true, "clients/go/otelidemsvc": true, "clients/go/webhook": true, "clients/go/inbox": true, "clients/go/inbox/pgxinbox": true}
	for pkg, may := range map[string]struct{ telemetry, sql, pgx bool }{
		".": {}, "./otelidemsvc": {telemetry: true}, "./webhook": {}, "./inbox": {sql: true}, "./inbox/pgxinbox": {sql: true, pgx: true},
	} {
		for _, dep := range dependencies(t, pkg) {
			name, ours := strings.CutPrefix(dep, module)
			switch {
			case ours && !strings.HasPrefix(name, "api/proto/") && !own[name], strings.Contains(dep, "grpc-gateway"):
				t.Errorf("%s depends on %s", pkg, dep)
			case strings.HasPrefix(dep, "github.com/jackc/") && !may.pgx, dep == "database/sql" && !may.sql, dep == "testing":
				t.Errorf("%s depends on %s", pkg, dep)
			case strings.Contains(dep, "opentelemetry") && !may.telemetry, strings.Contains(dep, "opentelemetry.io/otel/sdk"):
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}
