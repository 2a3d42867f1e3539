// Package idemtest runs the real service in the process of a test, over memory.
//
//	func TestInvoices(t *testing.T) {
//		service := idemtest.New(t)
//		client := service.Client(idemsvc.WithConsumer("billing"))
//		// hand client to the code under test
//	}
//
// It decides by the same rules as the service in production and forgets everything at the
// end. Nothing is mocked, so a test can let leases end, events be repeated and claims be
// lost:
//
//	service.Advance(2 * time.Minute) // every lease is over now
//
// [Server.Advance] moves the service's clock only. What a client does by its own clock,
// such as extending a lease at a third of it, is best tested inside a bubble of
// [testing/synctest]: the whole service works in there, and its clock is the bubble's.
//
// Unlike the client, this package imports the server. Import it in tests only.
package idemtest
