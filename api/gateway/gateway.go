// Package gateway has the OpenAPI document of the contract as JSON over HTTP. The handlers
// that are made from the same paths are in the package below.
package gateway

import _ "embed" // the document

// OpenAPI is the document, OpenAPI 2.0 in JSON. It is made from the protos, http.yaml and
// openapi.yaml.
//
//go:embed idemsvc-v1.swagger.json
var OpenAPI []byte
