// Package polyglot_test uses the service as strangers do: from a fresh copy of the
// repository, with the built program, and from programs in other languages.
package polyglot_test
