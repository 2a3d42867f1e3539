// Package docrun tries the project's pages as a stranger would. It finds the commands in a
// page, runs them in one shell in a fresh copy of the repository, and tells what each
// printed. It is for tests only.
package docrun
