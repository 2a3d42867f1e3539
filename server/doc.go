// Package server is the transport: it speaks the gRPC contract of api/proto, and
// the same as JSON over HTTP, and nothing else. A call walks one list of interceptors, becomes a command of package
// idem, is handed to a storage.Service, and its answer becomes a reply. All rules are
// idem's, all memory is storage's.
//
// Three roads lead to the same command: a unary call, an item of a batch, a command of
// a Session. They share the validation, the authorisation, the limits and the mapping
// of errors; only the form of a refusal differs. A request over HTTP becomes a unary call
// before it sets out.
package server
