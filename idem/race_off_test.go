//go:build !race

package idem_test

// stateLimit bounds the states of one domain.
const stateLimit = 3000

// slow divides the rounds of random tests.
const slow = 1
