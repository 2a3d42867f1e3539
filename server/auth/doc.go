// Package auth keeps the table of bearer tokens: who may call, in which role and in
// which namespaces.
//
// The table is a file of hashes. A token is 256 random bits, shown once when it is
// made; the file holds only its SHA-256, so that whoever reads the file cannot call.
// Namespaces exist by being named in the table.
package auth
