package server

import (
	"math"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "idemsvc"

// maxViolations bounds the violations of one refusal: they travel in a header.
const maxViolations = 8

// refusal is a refused call before it takes the form of its road: a gRPC status, or an
// item's error.
type refusal struct {
	reason  pb.ErrorReason
	message string
	fields  []violation
	retry   time.Duration // 0: repeating does not help
	meta    map[string]string
	cause   error // for the log only
}

// violation is a field at fault.
type violation struct{ field, message string }

// invalid refuses one field.
func invalid(field, message string) *refusal {
	return refused(pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, field, message)
}

// refused is a refusal for a field.
func refused(reason pb.ErrorReason, field, message string) *refusal {
	return &refusal{reason: reason, message: message, fields: []violation{{field: field, message: message}}}
}

// under moves the refusal's fields below a path.
func (r *refusal) under(prefix string) *refusal {
	for i := range r.fields {
		r.fields[i].field = prefix + r.fields[i].field
	}
	return r
}

// Error implements error.
func (r *refusal) Error() string {
	if f := r.field(); f != "" {
		return reasonName(r.reason) + ": " + f + ": " + r.message
	}
	return reasonName(r.reason) + ": " + r.message
}

// Unwrap is the cause.
func (r *refusal) Unwrap() error { return r.cause }

func (r *refusal) field() string {
	if len(r.fields) == 0 {
		return ""
	}
	return r.fields[0].field
}

func (r *refusal) code() codes.Code { return reasonCode(r.reason) }

// text is the message for people. It names the field, since many clients show nothing
// else.
func (r *refusal) text() string {
	if f := r.field(); f != "" {
		return printable(f + ": " + r.message)
	}
	return printable(r.message)
}

// GRPCStatus is the refusal of a whole call.
func (r *refusal) GRPCStatus() *status.Status {
	details := []protoadapt.MessageV1{
		&errdetails.ErrorInfo{Reason: reasonName(r.reason), Domain: errorDomain, Metadata: r.meta},
	}
	if len(r.fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range r.fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: printable(v.field), Description: printable(v.message), Reason: reasonName(r.reason),
			})
		}
		details = append(details, bad)
	}
	if r.retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(r.retry)})
	}
	st := status.New(r.code(), r.text())
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}

// item is the refusal of one item of a batch or one command of a session.
func (r *refusal) item() *pb.ItemError {
	e := &pb.ItemError{
		Code: codeNumber(r.code()), Reason: reasonName(r.reason), Message: r.text(),
		Field: printable(r.field()), Metadata: r.meta,
	}
	if r.retry > 0 {
		e.RetryAfter = durationpb.New(r.retry)
	}
	return e
}

// printable is text that every road can carry: valid UTF-8 with NUL written out.
func printable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", `\0`)
}

func codeNumber(c codes.Code) int32 { return int32(min(c, math.MaxInt32)) } //nolint:gosec // bounded
