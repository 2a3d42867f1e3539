"""The contract of idemsvc, as messages and stubs for grpcio: see idemsvc.v1."""
