package io.github.idemsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
 * For every method:
 * - No reply says more than what a durable commit holds.
 * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
 *   answer, repeat; do not guess.
 * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
 * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
 *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
 * - Nothing of one namespace appears in an answer to another.
 * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class IdempotencyServiceGrpc {

  private IdempotencyServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "idemsvc.v1.IdempotencyService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventRequest,
      io.github.idemsvc.v1.ClaimEventResponse> getClaimEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ClaimEvent",
      requestType = io.github.idemsvc.v1.ClaimEventRequest.class,
      responseType = io.github.idemsvc.v1.ClaimEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventRequest,
      io.github.idemsvc.v1.ClaimEventResponse> getClaimEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventRequest, io.github.idemsvc.v1.ClaimEventResponse> getClaimEventMethod;
    if ((getClaimEventMethod = IdempotencyServiceGrpc.getClaimEventMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getClaimEventMethod = IdempotencyServiceGrpc.getClaimEventMethod) == null) {
          IdempotencyServiceGrpc.getClaimEventMethod = getClaimEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ClaimEventRequest, io.github.idemsvc.v1.ClaimEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ClaimEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ClaimEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ClaimEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ClaimEvent"))
              .build();
        }
      }
    }
    return getClaimEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventsRequest,
      io.github.idemsvc.v1.ClaimEventsResponse> getClaimEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ClaimEvents",
      requestType = io.github.idemsvc.v1.ClaimEventsRequest.class,
      responseType = io.github.idemsvc.v1.ClaimEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventsRequest,
      io.github.idemsvc.v1.ClaimEventsResponse> getClaimEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ClaimEventsRequest, io.github.idemsvc.v1.ClaimEventsResponse> getClaimEventsMethod;
    if ((getClaimEventsMethod = IdempotencyServiceGrpc.getClaimEventsMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getClaimEventsMethod = IdempotencyServiceGrpc.getClaimEventsMethod) == null) {
          IdempotencyServiceGrpc.getClaimEventsMethod = getClaimEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ClaimEventsRequest, io.github.idemsvc.v1.ClaimEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ClaimEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ClaimEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ClaimEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ClaimEvents"))
              .build();
        }
      }
    }
    return getClaimEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventRequest,
      io.github.idemsvc.v1.CompleteEventResponse> getCompleteEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CompleteEvent",
      requestType = io.github.idemsvc.v1.CompleteEventRequest.class,
      responseType = io.github.idemsvc.v1.CompleteEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventRequest,
      io.github.idemsvc.v1.CompleteEventResponse> getCompleteEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventRequest, io.github.idemsvc.v1.CompleteEventResponse> getCompleteEventMethod;
    if ((getCompleteEventMethod = IdempotencyServiceGrpc.getCompleteEventMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getCompleteEventMethod = IdempotencyServiceGrpc.getCompleteEventMethod) == null) {
          IdempotencyServiceGrpc.getCompleteEventMethod = getCompleteEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.CompleteEventRequest, io.github.idemsvc.v1.CompleteEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CompleteEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CompleteEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CompleteEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("CompleteEvent"))
              .build();
        }
      }
    }
    return getCompleteEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventsRequest,
      io.github.idemsvc.v1.CompleteEventsResponse> getCompleteEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CompleteEvents",
      requestType = io.github.idemsvc.v1.CompleteEventsRequest.class,
      responseType = io.github.idemsvc.v1.CompleteEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventsRequest,
      io.github.idemsvc.v1.CompleteEventsResponse> getCompleteEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.CompleteEventsRequest, io.github.idemsvc.v1.CompleteEventsResponse> getCompleteEventsMethod;
    if ((getCompleteEventsMethod = IdempotencyServiceGrpc.getCompleteEventsMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getCompleteEventsMethod = IdempotencyServiceGrpc.getCompleteEventsMethod) == null) {
          IdempotencyServiceGrpc.getCompleteEventsMethod = getCompleteEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.CompleteEventsRequest, io.github.idemsvc.v1.CompleteEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CompleteEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CompleteEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CompleteEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("CompleteEvents"))
              .build();
        }
      }
    }
    return getCompleteEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.FailEventRequest,
      io.github.idemsvc.v1.FailEventResponse> getFailEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "FailEvent",
      requestType = io.github.idemsvc.v1.FailEventRequest.class,
      responseType = io.github.idemsvc.v1.FailEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.FailEventRequest,
      io.github.idemsvc.v1.FailEventResponse> getFailEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.FailEventRequest, io.github.idemsvc.v1.FailEventResponse> getFailEventMethod;
    if ((getFailEventMethod = IdempotencyServiceGrpc.getFailEventMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getFailEventMethod = IdempotencyServiceGrpc.getFailEventMethod) == null) {
          IdempotencyServiceGrpc.getFailEventMethod = getFailEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.FailEventRequest, io.github.idemsvc.v1.FailEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "FailEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.FailEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.FailEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("FailEvent"))
              .build();
        }
      }
    }
    return getFailEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ExtendClaimRequest,
      io.github.idemsvc.v1.ExtendClaimResponse> getExtendClaimMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExtendClaim",
      requestType = io.github.idemsvc.v1.ExtendClaimRequest.class,
      responseType = io.github.idemsvc.v1.ExtendClaimResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ExtendClaimRequest,
      io.github.idemsvc.v1.ExtendClaimResponse> getExtendClaimMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ExtendClaimRequest, io.github.idemsvc.v1.ExtendClaimResponse> getExtendClaimMethod;
    if ((getExtendClaimMethod = IdempotencyServiceGrpc.getExtendClaimMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getExtendClaimMethod = IdempotencyServiceGrpc.getExtendClaimMethod) == null) {
          IdempotencyServiceGrpc.getExtendClaimMethod = getExtendClaimMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ExtendClaimRequest, io.github.idemsvc.v1.ExtendClaimResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExtendClaim"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ExtendClaimRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ExtendClaimResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ExtendClaim"))
              .build();
        }
      }
    }
    return getExtendClaimMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReleaseClaimRequest,
      io.github.idemsvc.v1.ReleaseClaimResponse> getReleaseClaimMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReleaseClaim",
      requestType = io.github.idemsvc.v1.ReleaseClaimRequest.class,
      responseType = io.github.idemsvc.v1.ReleaseClaimResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReleaseClaimRequest,
      io.github.idemsvc.v1.ReleaseClaimResponse> getReleaseClaimMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReleaseClaimRequest, io.github.idemsvc.v1.ReleaseClaimResponse> getReleaseClaimMethod;
    if ((getReleaseClaimMethod = IdempotencyServiceGrpc.getReleaseClaimMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getReleaseClaimMethod = IdempotencyServiceGrpc.getReleaseClaimMethod) == null) {
          IdempotencyServiceGrpc.getReleaseClaimMethod = getReleaseClaimMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ReleaseClaimRequest, io.github.idemsvc.v1.ReleaseClaimResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReleaseClaim"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReleaseClaimRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReleaseClaimResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ReleaseClaim"))
              .build();
        }
      }
    }
    return getReleaseClaimMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.CheckVersionRequest,
      io.github.idemsvc.v1.CheckVersionResponse> getCheckVersionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CheckVersion",
      requestType = io.github.idemsvc.v1.CheckVersionRequest.class,
      responseType = io.github.idemsvc.v1.CheckVersionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.CheckVersionRequest,
      io.github.idemsvc.v1.CheckVersionResponse> getCheckVersionMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.CheckVersionRequest, io.github.idemsvc.v1.CheckVersionResponse> getCheckVersionMethod;
    if ((getCheckVersionMethod = IdempotencyServiceGrpc.getCheckVersionMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getCheckVersionMethod = IdempotencyServiceGrpc.getCheckVersionMethod) == null) {
          IdempotencyServiceGrpc.getCheckVersionMethod = getCheckVersionMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.CheckVersionRequest, io.github.idemsvc.v1.CheckVersionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CheckVersion"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CheckVersionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.CheckVersionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("CheckVersion"))
              .build();
        }
      }
    }
    return getCheckVersionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordSideEffectRequest,
      io.github.idemsvc.v1.RecordSideEffectResponse> getRecordSideEffectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RecordSideEffect",
      requestType = io.github.idemsvc.v1.RecordSideEffectRequest.class,
      responseType = io.github.idemsvc.v1.RecordSideEffectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordSideEffectRequest,
      io.github.idemsvc.v1.RecordSideEffectResponse> getRecordSideEffectMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordSideEffectRequest, io.github.idemsvc.v1.RecordSideEffectResponse> getRecordSideEffectMethod;
    if ((getRecordSideEffectMethod = IdempotencyServiceGrpc.getRecordSideEffectMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getRecordSideEffectMethod = IdempotencyServiceGrpc.getRecordSideEffectMethod) == null) {
          IdempotencyServiceGrpc.getRecordSideEffectMethod = getRecordSideEffectMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.RecordSideEffectRequest, io.github.idemsvc.v1.RecordSideEffectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RecordSideEffect"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.RecordSideEffectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.RecordSideEffectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("RecordSideEffect"))
              .build();
        }
      }
    }
    return getRecordSideEffectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventRequest,
      io.github.idemsvc.v1.ReceiveEventResponse> getReceiveEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReceiveEvent",
      requestType = io.github.idemsvc.v1.ReceiveEventRequest.class,
      responseType = io.github.idemsvc.v1.ReceiveEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventRequest,
      io.github.idemsvc.v1.ReceiveEventResponse> getReceiveEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventRequest, io.github.idemsvc.v1.ReceiveEventResponse> getReceiveEventMethod;
    if ((getReceiveEventMethod = IdempotencyServiceGrpc.getReceiveEventMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getReceiveEventMethod = IdempotencyServiceGrpc.getReceiveEventMethod) == null) {
          IdempotencyServiceGrpc.getReceiveEventMethod = getReceiveEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ReceiveEventRequest, io.github.idemsvc.v1.ReceiveEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReceiveEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReceiveEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReceiveEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ReceiveEvent"))
              .build();
        }
      }
    }
    return getReceiveEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventsRequest,
      io.github.idemsvc.v1.ReceiveEventsResponse> getReceiveEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReceiveEvents",
      requestType = io.github.idemsvc.v1.ReceiveEventsRequest.class,
      responseType = io.github.idemsvc.v1.ReceiveEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventsRequest,
      io.github.idemsvc.v1.ReceiveEventsResponse> getReceiveEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReceiveEventsRequest, io.github.idemsvc.v1.ReceiveEventsResponse> getReceiveEventsMethod;
    if ((getReceiveEventsMethod = IdempotencyServiceGrpc.getReceiveEventsMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getReceiveEventsMethod = IdempotencyServiceGrpc.getReceiveEventsMethod) == null) {
          IdempotencyServiceGrpc.getReceiveEventsMethod = getReceiveEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ReceiveEventsRequest, io.github.idemsvc.v1.ReceiveEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReceiveEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReceiveEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReceiveEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("ReceiveEvents"))
              .build();
        }
      }
    }
    return getReceiveEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.AcquireEventsRequest,
      io.github.idemsvc.v1.AcquireEventsResponse> getAcquireEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AcquireEvents",
      requestType = io.github.idemsvc.v1.AcquireEventsRequest.class,
      responseType = io.github.idemsvc.v1.AcquireEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.AcquireEventsRequest,
      io.github.idemsvc.v1.AcquireEventsResponse> getAcquireEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.AcquireEventsRequest, io.github.idemsvc.v1.AcquireEventsResponse> getAcquireEventsMethod;
    if ((getAcquireEventsMethod = IdempotencyServiceGrpc.getAcquireEventsMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getAcquireEventsMethod = IdempotencyServiceGrpc.getAcquireEventsMethod) == null) {
          IdempotencyServiceGrpc.getAcquireEventsMethod = getAcquireEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.AcquireEventsRequest, io.github.idemsvc.v1.AcquireEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AcquireEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.AcquireEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.AcquireEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("AcquireEvents"))
              .build();
        }
      }
    }
    return getAcquireEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.SessionRequest,
      io.github.idemsvc.v1.SessionResponse> getSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Session",
      requestType = io.github.idemsvc.v1.SessionRequest.class,
      responseType = io.github.idemsvc.v1.SessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.SessionRequest,
      io.github.idemsvc.v1.SessionResponse> getSessionMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.SessionRequest, io.github.idemsvc.v1.SessionResponse> getSessionMethod;
    if ((getSessionMethod = IdempotencyServiceGrpc.getSessionMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getSessionMethod = IdempotencyServiceGrpc.getSessionMethod) == null) {
          IdempotencyServiceGrpc.getSessionMethod = getSessionMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.SessionRequest, io.github.idemsvc.v1.SessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Session"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.SessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.SessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("Session"))
              .build();
        }
      }
    }
    return getSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordDeliveryAnswerRequest,
      io.github.idemsvc.v1.RecordDeliveryAnswerResponse> getRecordDeliveryAnswerMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RecordDeliveryAnswer",
      requestType = io.github.idemsvc.v1.RecordDeliveryAnswerRequest.class,
      responseType = io.github.idemsvc.v1.RecordDeliveryAnswerResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordDeliveryAnswerRequest,
      io.github.idemsvc.v1.RecordDeliveryAnswerResponse> getRecordDeliveryAnswerMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.RecordDeliveryAnswerRequest, io.github.idemsvc.v1.RecordDeliveryAnswerResponse> getRecordDeliveryAnswerMethod;
    if ((getRecordDeliveryAnswerMethod = IdempotencyServiceGrpc.getRecordDeliveryAnswerMethod) == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        if ((getRecordDeliveryAnswerMethod = IdempotencyServiceGrpc.getRecordDeliveryAnswerMethod) == null) {
          IdempotencyServiceGrpc.getRecordDeliveryAnswerMethod = getRecordDeliveryAnswerMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.RecordDeliveryAnswerRequest, io.github.idemsvc.v1.RecordDeliveryAnswerResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RecordDeliveryAnswer"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.RecordDeliveryAnswerRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.RecordDeliveryAnswerResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IdempotencyServiceMethodDescriptorSupplier("RecordDeliveryAnswer"))
              .build();
        }
      }
    }
    return getRecordDeliveryAnswerMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static IdempotencyServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceStub>() {
        @java.lang.Override
        public IdempotencyServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IdempotencyServiceStub(channel, callOptions);
        }
      };
    return IdempotencyServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static IdempotencyServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceBlockingV2Stub>() {
        @java.lang.Override
        public IdempotencyServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IdempotencyServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return IdempotencyServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static IdempotencyServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceBlockingStub>() {
        @java.lang.Override
        public IdempotencyServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IdempotencyServiceBlockingStub(channel, callOptions);
        }
      };
    return IdempotencyServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static IdempotencyServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IdempotencyServiceFutureStub>() {
        @java.lang.Override
        public IdempotencyServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IdempotencyServiceFutureStub(channel, callOptions);
        }
      };
    return IdempotencyServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * ClaimEvent asks: is this event mine to process now?
     * At most one live claim exists for (namespace, consumer, source, event_id), whatever crashes. A claim is committed before it is
     * answered. Repeat-safe by claimant: the same claimant gets the claim it has, with the same token; another one gets IN_PROGRESS.
     * Duplicates get the stored result. Act on advice; ClaimOutcome documents each answer and what to tell the provider.
     * A claim that is neither ended nor extended ends with its lease; then stale_claim and the attempts left decide.
     * </pre>
     */
    default void claimEvent(io.github.idemsvc.v1.ClaimEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getClaimEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * ClaimEvents does ClaimEvent for up to 1000 events of one consumer, 4 MiB in all.
     * Each item is granted, refused or failed for itself; there is no all-or-nothing. Repeat-safe by (claimant, index). Never waits.
     * Results and payloads come up to a byte budget, then result_omitted. A provider that sends arrays is answered 2xx only if every
     * item's advice is ACKNOWLEDGE or was processed; else 503: finished items are then recognised as duplicates.
     * </pre>
     */
    default void claimEvents(io.github.idemsvc.v1.ClaimEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getClaimEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * CompleteEvent ends a claim with success and stores the result, at most 65536 bytes.
     * Durable when answered: state, result, outputs, applied versions and freed lanes in one commit. Repeat-safe by token: the same
     * result answers already_completed, another one ALREADY_ENDED. Accepted after the lease as long as nobody took the event or its
     * lanes; then CLAIM_LOST. A refused completion leaves the claim live. Answer the provider 2xx afterwards.
     * </pre>
     */
    default void completeEvent(io.github.idemsvc.v1.CompleteEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompleteEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * CompleteEvents does CompleteEvent for up to 1000 claims, 4 MiB in all, each for itself. Repeat-safe by token.
     * </pre>
     */
    default void completeEvents(io.github.idemsvc.v1.CompleteEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompleteEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * FailEvent ends a claim with a failure: RETRYABLE, TERMINAL or NOT_YET.
     * Durable when answered. The attempt counts once. Repeat-safe by token: the stored answer with the same due time. Accepted after the
     * lease as long as nobody took the event; then CLAIM_LOST. Lanes are freed, no version is applied. The provider's answer
     * follows from the state, see FailEventResponse.
     * </pre>
     */
    default void failEvent(io.github.idemsvc.v1.FailEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.FailEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getFailEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * ExtendClaim keeps a claim alive. Call it at a third of the lease.
     * Durable when answered. Repeating it is harmless: the end only moves later, never earlier. Revives a claim whose lease is over as
     * long as nobody took the event or its lanes; then CLAIM_LOST: stop working. Policy bounds a claim's whole age.
     * </pre>
     */
    default void extendClaim(io.github.idemsvc.v1.ExtendClaimRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ExtendClaimResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExtendClaimMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReleaseClaim gives an event back undone, for example at shutdown.
     * Durable when answered. Not counted as an attempt unless a side effect was begun. Repeat-safe by token: the stored answer. After
     * CLAIM_LOST there is nothing to give back. Answer the provider 503.
     * </pre>
     */
    default void releaseClaim(io.github.idemsvc.v1.ReleaseClaimRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReleaseClaimResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleaseClaimMethod(), responseObserver);
    }

    /**
     * <pre>
     * CheckVersion asks: is this version still news for the resource?
     * With a claim token, APPLY reserves the resource until the claim ends, and the version counts as applied when the claim is
     * completed: a completed newer version is never followed by an older one. Repeat-safe by token: same answer, same lane_fence.
     * Without a token it compares and advances at once, in one commit: an at-most-once guard, which a crash right after the answer
     * turns into a version that counts as applied but is not. Repeat-safe by event_ref or request_id. Never waits.
     * VersionDecision documents each answer.
     * </pre>
     */
    default void checkVersion(io.github.idemsvc.v1.CheckVersionRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CheckVersionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCheckVersionMethod(), responseObserver);
    }

    /**
     * <pre>
     * RecordSideEffect guards one operation that must not happen twice: begin, perform, report.
     * The permission is committed before PERFORM is answered, the fact before the report is. begin is repeat-safe by begin_id, reports
     * by effect token, record by key (the first value wins). begin and record need a live claim where one is given; done, not_done
     * and unknown are accepted after it is lost, because facts are never refused. At most 256 effects and 256 KiB of their
     * bytes per event. EffectOutcome documents each answer.
     * </pre>
     */
    default void recordSideEffect(io.github.idemsvc.v1.RecordSideEffectRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordSideEffectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordSideEffectMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReceiveEvent keeps an event for later work, for one or several consumers, without a claim.
     * Record, payload (once per event ref and payload hash, or where the caller keeps it) and allow-listed headers are durable when
     * answered: then the provider may be told 2xx. Repeat-safe by delivery.request_id. Later receipts are answered DUPLICATE with the
     * event's state and move nothing. A delivery whose signature failed is recorded apart and touches no event. What could never be
     * granted (another kind of version than the resource's, an unknown state machine) is refused. A received event is offered to workers
     * until it is finished; whatever becomes of them, after at most one lease it is claimable, held or dead-lettered.
     * ReceiveOutcome documents each answer.
     * </pre>
     */
    default void receiveEvent(io.github.idemsvc.v1.ReceiveEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReceiveEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReceiveEvents does ReceiveEvent for up to 1000 events, 4 MiB in all, and for at most 1000 consumers of events.
     * Each item is stored, answered or refused for itself; there is no all-or-nothing. Repeat-safe by delivery.request_id, with any of the
     * items. A provider that sends arrays is answered 2xx only if every item's advice is ACKNOWLEDGE; else 503: what was stored is then
     * recognised as a duplicate.
     * </pre>
     */
    default void receiveEvents(io.github.idemsvc.v1.ReceiveEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReceiveEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * AcquireEvents grants events of a consumer that are due, up to 100, and waits up to 60 s for the first one.
     * Due are events that were received, given back, are to be run again after a failure or a worker's end, or are to be replayed. Those
     * that are due for longest come first; of those about one resource one is in flight at a time: the newest first under LATEST_WINS
     * (what it supersedes ends as IGNORED_STALE), the next one under SEQUENTIAL, one for all under SIGNAL. Each is decided as a ClaimEvent at the moment of the
     * grant. A retry's due time is noticed within a second, an event received by the same replica at once, by another one within about
     * half a second. Repeat-safe by claimant: the same claims with the same tokens. A grant that cannot be delivered, because its caller
     * has gone, is given back and not counted. There is no all-or-nothing: each event is a claim for itself.
     * </pre>
     */
    default void acquireEvents(io.github.idemsvc.v1.AcquireEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AcquireEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquireEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Session carries any of the commands above over one stream. EXPERIMENTAL: may change incompatibly.
     * Commands run at the same time and are answered in any order, each with the guarantees of its unary method. A command whose
     * order matters is sent after the answer to the one before it. A broken stream loses no answer that a repeat with the same
     * claimant or token cannot fetch.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SessionRequest> session(
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SessionResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * RecordDeliveryAnswer records what a provider was told about a delivery: for answers that cannot ride on the completion or failure
     * of a claim, such as those to receipts, duplicates and events in progress.
     * It decides nothing, so it is written just after the answer, at most a second later, and a crash may lose it. The first answer of a
     * delivery stays. Shown by GetEvent; an answer for an event that is not stored is shown nowhere.
     * </pre>
     */
    default void recordDeliveryAnswer(io.github.idemsvc.v1.RecordDeliveryAnswerRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordDeliveryAnswerResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordDeliveryAnswerMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service IdempotencyService.
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public static abstract class IdempotencyServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return IdempotencyServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service IdempotencyService.
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public static final class IdempotencyServiceStub
      extends io.grpc.stub.AbstractAsyncStub<IdempotencyServiceStub> {
    private IdempotencyServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IdempotencyServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IdempotencyServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * ClaimEvent asks: is this event mine to process now?
     * At most one live claim exists for (namespace, consumer, source, event_id), whatever crashes. A claim is committed before it is
     * answered. Repeat-safe by claimant: the same claimant gets the claim it has, with the same token; another one gets IN_PROGRESS.
     * Duplicates get the stored result. Act on advice; ClaimOutcome documents each answer and what to tell the provider.
     * A claim that is neither ended nor extended ends with its lease; then stale_claim and the attempts left decide.
     * </pre>
     */
    public void claimEvent(io.github.idemsvc.v1.ClaimEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getClaimEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ClaimEvents does ClaimEvent for up to 1000 events of one consumer, 4 MiB in all.
     * Each item is granted, refused or failed for itself; there is no all-or-nothing. Repeat-safe by (claimant, index). Never waits.
     * Results and payloads come up to a byte budget, then result_omitted. A provider that sends arrays is answered 2xx only if every
     * item's advice is ACKNOWLEDGE or was processed; else 503: finished items are then recognised as duplicates.
     * </pre>
     */
    public void claimEvents(io.github.idemsvc.v1.ClaimEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getClaimEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CompleteEvent ends a claim with success and stores the result, at most 65536 bytes.
     * Durable when answered: state, result, outputs, applied versions and freed lanes in one commit. Repeat-safe by token: the same
     * result answers already_completed, another one ALREADY_ENDED. Accepted after the lease as long as nobody took the event or its
     * lanes; then CLAIM_LOST. A refused completion leaves the claim live. Answer the provider 2xx afterwards.
     * </pre>
     */
    public void completeEvent(io.github.idemsvc.v1.CompleteEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompleteEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CompleteEvents does CompleteEvent for up to 1000 claims, 4 MiB in all, each for itself. Repeat-safe by token.
     * </pre>
     */
    public void completeEvents(io.github.idemsvc.v1.CompleteEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompleteEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * FailEvent ends a claim with a failure: RETRYABLE, TERMINAL or NOT_YET.
     * Durable when answered. The attempt counts once. Repeat-safe by token: the stored answer with the same due time. Accepted after the
     * lease as long as nobody took the event; then CLAIM_LOST. Lanes are freed, no version is applied. The provider's answer
     * follows from the state, see FailEventResponse.
     * </pre>
     */
    public void failEvent(io.github.idemsvc.v1.FailEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.FailEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getFailEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ExtendClaim keeps a claim alive. Call it at a third of the lease.
     * Durable when answered. Repeating it is harmless: the end only moves later, never earlier. Revives a claim whose lease is over as
     * long as nobody took the event or its lanes; then CLAIM_LOST: stop working. Policy bounds a claim's whole age.
     * </pre>
     */
    public void extendClaim(io.github.idemsvc.v1.ExtendClaimRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ExtendClaimResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExtendClaimMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReleaseClaim gives an event back undone, for example at shutdown.
     * Durable when answered. Not counted as an attempt unless a side effect was begun. Repeat-safe by token: the stored answer. After
     * CLAIM_LOST there is nothing to give back. Answer the provider 503.
     * </pre>
     */
    public void releaseClaim(io.github.idemsvc.v1.ReleaseClaimRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReleaseClaimResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleaseClaimMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CheckVersion asks: is this version still news for the resource?
     * With a claim token, APPLY reserves the resource until the claim ends, and the version counts as applied when the claim is
     * completed: a completed newer version is never followed by an older one. Repeat-safe by token: same answer, same lane_fence.
     * Without a token it compares and advances at once, in one commit: an at-most-once guard, which a crash right after the answer
     * turns into a version that counts as applied but is not. Repeat-safe by event_ref or request_id. Never waits.
     * VersionDecision documents each answer.
     * </pre>
     */
    public void checkVersion(io.github.idemsvc.v1.CheckVersionRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CheckVersionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCheckVersionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RecordSideEffect guards one operation that must not happen twice: begin, perform, report.
     * The permission is committed before PERFORM is answered, the fact before the report is. begin is repeat-safe by begin_id, reports
     * by effect token, record by key (the first value wins). begin and record need a live claim where one is given; done, not_done
     * and unknown are accepted after it is lost, because facts are never refused. At most 256 effects and 256 KiB of their
     * bytes per event. EffectOutcome documents each answer.
     * </pre>
     */
    public void recordSideEffect(io.github.idemsvc.v1.RecordSideEffectRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordSideEffectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecordSideEffectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReceiveEvent keeps an event for later work, for one or several consumers, without a claim.
     * Record, payload (once per event ref and payload hash, or where the caller keeps it) and allow-listed headers are durable when
     * answered: then the provider may be told 2xx. Repeat-safe by delivery.request_id. Later receipts are answered DUPLICATE with the
     * event's state and move nothing. A delivery whose signature failed is recorded apart and touches no event. What could never be
     * granted (another kind of version than the resource's, an unknown state machine) is refused. A received event is offered to workers
     * until it is finished; whatever becomes of them, after at most one lease it is claimable, held or dead-lettered.
     * ReceiveOutcome documents each answer.
     * </pre>
     */
    public void receiveEvent(io.github.idemsvc.v1.ReceiveEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReceiveEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReceiveEvents does ReceiveEvent for up to 1000 events, 4 MiB in all, and for at most 1000 consumers of events.
     * Each item is stored, answered or refused for itself; there is no all-or-nothing. Repeat-safe by delivery.request_id, with any of the
     * items. A provider that sends arrays is answered 2xx only if every item's advice is ACKNOWLEDGE; else 503: what was stored is then
     * recognised as a duplicate.
     * </pre>
     */
    public void receiveEvents(io.github.idemsvc.v1.ReceiveEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReceiveEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * AcquireEvents grants events of a consumer that are due, up to 100, and waits up to 60 s for the first one.
     * Due are events that were received, given back, are to be run again after a failure or a worker's end, or are to be replayed. Those
     * that are due for longest come first; of those about one resource one is in flight at a time: the newest first under LATEST_WINS
     * (what it supersedes ends as IGNORED_STALE), the next one under SEQUENTIAL, one for all under SIGNAL. Each is decided as a ClaimEvent at the moment of the
     * grant. A retry's due time is noticed within a second, an event received by the same replica at once, by another one within about
     * half a second. Repeat-safe by claimant: the same claims with the same tokens. A grant that cannot be delivered, because its caller
     * has gone, is given back and not counted. There is no all-or-nothing: each event is a claim for itself.
     * </pre>
     */
    public void acquireEvents(io.github.idemsvc.v1.AcquireEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AcquireEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquireEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Session carries any of the commands above over one stream. EXPERIMENTAL: may change incompatibly.
     * Commands run at the same time and are answered in any order, each with the guarantees of its unary method. A command whose
     * order matters is sent after the answer to the one before it. A broken stream loses no answer that a repeat with the same
     * claimant or token cannot fetch.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SessionRequest> session(
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SessionResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getSessionMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * RecordDeliveryAnswer records what a provider was told about a delivery: for answers that cannot ride on the completion or failure
     * of a claim, such as those to receipts, duplicates and events in progress.
     * It decides nothing, so it is written just after the answer, at most a second later, and a crash may lose it. The first answer of a
     * delivery stays. Shown by GetEvent; an answer for an event that is not stored is shown nowhere.
     * </pre>
     */
    public void recordDeliveryAnswer(io.github.idemsvc.v1.RecordDeliveryAnswerRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordDeliveryAnswerResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecordDeliveryAnswerMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service IdempotencyService.
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public static final class IdempotencyServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<IdempotencyServiceBlockingV2Stub> {
    private IdempotencyServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IdempotencyServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IdempotencyServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * ClaimEvent asks: is this event mine to process now?
     * At most one live claim exists for (namespace, consumer, source, event_id), whatever crashes. A claim is committed before it is
     * answered. Repeat-safe by claimant: the same claimant gets the claim it has, with the same token; another one gets IN_PROGRESS.
     * Duplicates get the stored result. Act on advice; ClaimOutcome documents each answer and what to tell the provider.
     * A claim that is neither ended nor extended ends with its lease; then stale_claim and the attempts left decide.
     * </pre>
     */
    public io.github.idemsvc.v1.ClaimEventResponse claimEvent(io.github.idemsvc.v1.ClaimEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getClaimEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ClaimEvents does ClaimEvent for up to 1000 events of one consumer, 4 MiB in all.
     * Each item is granted, refused or failed for itself; there is no all-or-nothing. Repeat-safe by (claimant, index). Never waits.
     * Results and payloads come up to a byte budget, then result_omitted. A provider that sends arrays is answered 2xx only if every
     * item's advice is ACKNOWLEDGE or was processed; else 503: finished items are then recognised as duplicates.
     * </pre>
     */
    public io.github.idemsvc.v1.ClaimEventsResponse claimEvents(io.github.idemsvc.v1.ClaimEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getClaimEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CompleteEvent ends a claim with success and stores the result, at most 65536 bytes.
     * Durable when answered: state, result, outputs, applied versions and freed lanes in one commit. Repeat-safe by token: the same
     * result answers already_completed, another one ALREADY_ENDED. Accepted after the lease as long as nobody took the event or its
     * lanes; then CLAIM_LOST. A refused completion leaves the claim live. Answer the provider 2xx afterwards.
     * </pre>
     */
    public io.github.idemsvc.v1.CompleteEventResponse completeEvent(io.github.idemsvc.v1.CompleteEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompleteEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CompleteEvents does CompleteEvent for up to 1000 claims, 4 MiB in all, each for itself. Repeat-safe by token.
     * </pre>
     */
    public io.github.idemsvc.v1.CompleteEventsResponse completeEvents(io.github.idemsvc.v1.CompleteEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompleteEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * FailEvent ends a claim with a failure: RETRYABLE, TERMINAL or NOT_YET.
     * Durable when answered. The attempt counts once. Repeat-safe by token: the stored answer with the same due time. Accepted after the
     * lease as long as nobody took the event; then CLAIM_LOST. Lanes are freed, no version is applied. The provider's answer
     * follows from the state, see FailEventResponse.
     * </pre>
     */
    public io.github.idemsvc.v1.FailEventResponse failEvent(io.github.idemsvc.v1.FailEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getFailEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExtendClaim keeps a claim alive. Call it at a third of the lease.
     * Durable when answered. Repeating it is harmless: the end only moves later, never earlier. Revives a claim whose lease is over as
     * long as nobody took the event or its lanes; then CLAIM_LOST: stop working. Policy bounds a claim's whole age.
     * </pre>
     */
    public io.github.idemsvc.v1.ExtendClaimResponse extendClaim(io.github.idemsvc.v1.ExtendClaimRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExtendClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReleaseClaim gives an event back undone, for example at shutdown.
     * Durable when answered. Not counted as an attempt unless a side effect was begun. Repeat-safe by token: the stored answer. After
     * CLAIM_LOST there is nothing to give back. Answer the provider 503.
     * </pre>
     */
    public io.github.idemsvc.v1.ReleaseClaimResponse releaseClaim(io.github.idemsvc.v1.ReleaseClaimRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReleaseClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckVersion asks: is this version still news for the resource?
     * With a claim token, APPLY reserves the resource until the claim ends, and the version counts as applied when the claim is
     * completed: a completed newer version is never followed by an older one. Repeat-safe by token: same answer, same lane_fence.
     * Without a token it compares and advances at once, in one commit: an at-most-once guard, which a crash right after the answer
     * turns into a version that counts as applied but is not. Repeat-safe by event_ref or request_id. Never waits.
     * VersionDecision documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.CheckVersionResponse checkVersion(io.github.idemsvc.v1.CheckVersionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCheckVersionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RecordSideEffect guards one operation that must not happen twice: begin, perform, report.
     * The permission is committed before PERFORM is answered, the fact before the report is. begin is repeat-safe by begin_id, reports
     * by effect token, record by key (the first value wins). begin and record need a live claim where one is given; done, not_done
     * and unknown are accepted after it is lost, because facts are never refused. At most 256 effects and 256 KiB of their
     * bytes per event. EffectOutcome documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.RecordSideEffectResponse recordSideEffect(io.github.idemsvc.v1.RecordSideEffectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRecordSideEffectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReceiveEvent keeps an event for later work, for one or several consumers, without a claim.
     * Record, payload (once per event ref and payload hash, or where the caller keeps it) and allow-listed headers are durable when
     * answered: then the provider may be told 2xx. Repeat-safe by delivery.request_id. Later receipts are answered DUPLICATE with the
     * event's state and move nothing. A delivery whose signature failed is recorded apart and touches no event. What could never be
     * granted (another kind of version than the resource's, an unknown state machine) is refused. A received event is offered to workers
     * until it is finished; whatever becomes of them, after at most one lease it is claimable, held or dead-lettered.
     * ReceiveOutcome documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.ReceiveEventResponse receiveEvent(io.github.idemsvc.v1.ReceiveEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReceiveEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReceiveEvents does ReceiveEvent for up to 1000 events, 4 MiB in all, and for at most 1000 consumers of events.
     * Each item is stored, answered or refused for itself; there is no all-or-nothing. Repeat-safe by delivery.request_id, with any of the
     * items. A provider that sends arrays is answered 2xx only if every item's advice is ACKNOWLEDGE; else 503: what was stored is then
     * recognised as a duplicate.
     * </pre>
     */
    public io.github.idemsvc.v1.ReceiveEventsResponse receiveEvents(io.github.idemsvc.v1.ReceiveEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReceiveEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AcquireEvents grants events of a consumer that are due, up to 100, and waits up to 60 s for the first one.
     * Due are events that were received, given back, are to be run again after a failure or a worker's end, or are to be replayed. Those
     * that are due for longest come first; of those about one resource one is in flight at a time: the newest first under LATEST_WINS
     * (what it supersedes ends as IGNORED_STALE), the next one under SEQUENTIAL, one for all under SIGNAL. Each is decided as a ClaimEvent at the moment of the
     * grant. A retry's due time is noticed within a second, an event received by the same replica at once, by another one within about
     * half a second. Repeat-safe by claimant: the same claims with the same tokens. A grant that cannot be delivered, because its caller
     * has gone, is given back and not counted. There is no all-or-nothing: each event is a claim for itself.
     * </pre>
     */
    public io.github.idemsvc.v1.AcquireEventsResponse acquireEvents(io.github.idemsvc.v1.AcquireEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAcquireEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Session carries any of the commands above over one stream. EXPERIMENTAL: may change incompatibly.
     * Commands run at the same time and are answered in any order, each with the guarantees of its unary method. A command whose
     * order matters is sent after the answer to the one before it. A broken stream loses no answer that a repeat with the same
     * claimant or token cannot fetch.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.github.idemsvc.v1.SessionRequest, io.github.idemsvc.v1.SessionResponse>
        session() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getSessionMethod(), getCallOptions());
    }

    /**
     * <pre>
     * RecordDeliveryAnswer records what a provider was told about a delivery: for answers that cannot ride on the completion or failure
     * of a claim, such as those to receipts, duplicates and events in progress.
     * It decides nothing, so it is written just after the answer, at most a second later, and a crash may lose it. The first answer of a
     * delivery stays. Shown by GetEvent; an answer for an event that is not stored is shown nowhere.
     * </pre>
     */
    public io.github.idemsvc.v1.RecordDeliveryAnswerResponse recordDeliveryAnswer(io.github.idemsvc.v1.RecordDeliveryAnswerRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRecordDeliveryAnswerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service IdempotencyService.
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public static final class IdempotencyServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<IdempotencyServiceBlockingStub> {
    private IdempotencyServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IdempotencyServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IdempotencyServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * ClaimEvent asks: is this event mine to process now?
     * At most one live claim exists for (namespace, consumer, source, event_id), whatever crashes. A claim is committed before it is
     * answered. Repeat-safe by claimant: the same claimant gets the claim it has, with the same token; another one gets IN_PROGRESS.
     * Duplicates get the stored result. Act on advice; ClaimOutcome documents each answer and what to tell the provider.
     * A claim that is neither ended nor extended ends with its lease; then stale_claim and the attempts left decide.
     * </pre>
     */
    public io.github.idemsvc.v1.ClaimEventResponse claimEvent(io.github.idemsvc.v1.ClaimEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getClaimEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ClaimEvents does ClaimEvent for up to 1000 events of one consumer, 4 MiB in all.
     * Each item is granted, refused or failed for itself; there is no all-or-nothing. Repeat-safe by (claimant, index). Never waits.
     * Results and payloads come up to a byte budget, then result_omitted. A provider that sends arrays is answered 2xx only if every
     * item's advice is ACKNOWLEDGE or was processed; else 503: finished items are then recognised as duplicates.
     * </pre>
     */
    public io.github.idemsvc.v1.ClaimEventsResponse claimEvents(io.github.idemsvc.v1.ClaimEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getClaimEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CompleteEvent ends a claim with success and stores the result, at most 65536 bytes.
     * Durable when answered: state, result, outputs, applied versions and freed lanes in one commit. Repeat-safe by token: the same
     * result answers already_completed, another one ALREADY_ENDED. Accepted after the lease as long as nobody took the event or its
     * lanes; then CLAIM_LOST. A refused completion leaves the claim live. Answer the provider 2xx afterwards.
     * </pre>
     */
    public io.github.idemsvc.v1.CompleteEventResponse completeEvent(io.github.idemsvc.v1.CompleteEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompleteEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CompleteEvents does CompleteEvent for up to 1000 claims, 4 MiB in all, each for itself. Repeat-safe by token.
     * </pre>
     */
    public io.github.idemsvc.v1.CompleteEventsResponse completeEvents(io.github.idemsvc.v1.CompleteEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompleteEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * FailEvent ends a claim with a failure: RETRYABLE, TERMINAL or NOT_YET.
     * Durable when answered. The attempt counts once. Repeat-safe by token: the stored answer with the same due time. Accepted after the
     * lease as long as nobody took the event; then CLAIM_LOST. Lanes are freed, no version is applied. The provider's answer
     * follows from the state, see FailEventResponse.
     * </pre>
     */
    public io.github.idemsvc.v1.FailEventResponse failEvent(io.github.idemsvc.v1.FailEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getFailEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExtendClaim keeps a claim alive. Call it at a third of the lease.
     * Durable when answered. Repeating it is harmless: the end only moves later, never earlier. Revives a claim whose lease is over as
     * long as nobody took the event or its lanes; then CLAIM_LOST: stop working. Policy bounds a claim's whole age.
     * </pre>
     */
    public io.github.idemsvc.v1.ExtendClaimResponse extendClaim(io.github.idemsvc.v1.ExtendClaimRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExtendClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReleaseClaim gives an event back undone, for example at shutdown.
     * Durable when answered. Not counted as an attempt unless a side effect was begun. Repeat-safe by token: the stored answer. After
     * CLAIM_LOST there is nothing to give back. Answer the provider 503.
     * </pre>
     */
    public io.github.idemsvc.v1.ReleaseClaimResponse releaseClaim(io.github.idemsvc.v1.ReleaseClaimRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleaseClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckVersion asks: is this version still news for the resource?
     * With a claim token, APPLY reserves the resource until the claim ends, and the version counts as applied when the claim is
     * completed: a completed newer version is never followed by an older one. Repeat-safe by token: same answer, same lane_fence.
     * Without a token it compares and advances at once, in one commit: an at-most-once guard, which a crash right after the answer
     * turns into a version that counts as applied but is not. Repeat-safe by event_ref or request_id. Never waits.
     * VersionDecision documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.CheckVersionResponse checkVersion(io.github.idemsvc.v1.CheckVersionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCheckVersionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RecordSideEffect guards one operation that must not happen twice: begin, perform, report.
     * The permission is committed before PERFORM is answered, the fact before the report is. begin is repeat-safe by begin_id, reports
     * by effect token, record by key (the first value wins). begin and record need a live claim where one is given; done, not_done
     * and unknown are accepted after it is lost, because facts are never refused. At most 256 effects and 256 KiB of their
     * bytes per event. EffectOutcome documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.RecordSideEffectResponse recordSideEffect(io.github.idemsvc.v1.RecordSideEffectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordSideEffectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReceiveEvent keeps an event for later work, for one or several consumers, without a claim.
     * Record, payload (once per event ref and payload hash, or where the caller keeps it) and allow-listed headers are durable when
     * answered: then the provider may be told 2xx. Repeat-safe by delivery.request_id. Later receipts are answered DUPLICATE with the
     * event's state and move nothing. A delivery whose signature failed is recorded apart and touches no event. What could never be
     * granted (another kind of version than the resource's, an unknown state machine) is refused. A received event is offered to workers
     * until it is finished; whatever becomes of them, after at most one lease it is claimable, held or dead-lettered.
     * ReceiveOutcome documents each answer.
     * </pre>
     */
    public io.github.idemsvc.v1.ReceiveEventResponse receiveEvent(io.github.idemsvc.v1.ReceiveEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReceiveEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReceiveEvents does ReceiveEvent for up to 1000 events, 4 MiB in all, and for at most 1000 consumers of events.
     * Each item is stored, answered or refused for itself; there is no all-or-nothing. Repeat-safe by delivery.request_id, with any of the
     * items. A provider that sends arrays is answered 2xx only if every item's advice is ACKNOWLEDGE; else 503: what was stored is then
     * recognised as a duplicate.
     * </pre>
     */
    public io.github.idemsvc.v1.ReceiveEventsResponse receiveEvents(io.github.idemsvc.v1.ReceiveEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReceiveEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AcquireEvents grants events of a consumer that are due, up to 100, and waits up to 60 s for the first one.
     * Due are events that were received, given back, are to be run again after a failure or a worker's end, or are to be replayed. Those
     * that are due for longest come first; of those about one resource one is in flight at a time: the newest first under LATEST_WINS
     * (what it supersedes ends as IGNORED_STALE), the next one under SEQUENTIAL, one for all under SIGNAL. Each is decided as a ClaimEvent at the moment of the
     * grant. A retry's due time is noticed within a second, an event received by the same replica at once, by another one within about
     * half a second. Repeat-safe by claimant: the same claims with the same tokens. A grant that cannot be delivered, because its caller
     * has gone, is given back and not counted. There is no all-or-nothing: each event is a claim for itself.
     * </pre>
     */
    public io.github.idemsvc.v1.AcquireEventsResponse acquireEvents(io.github.idemsvc.v1.AcquireEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquireEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RecordDeliveryAnswer records what a provider was told about a delivery: for answers that cannot ride on the completion or failure
     * of a claim, such as those to receipts, duplicates and events in progress.
     * It decides nothing, so it is written just after the answer, at most a second later, and a crash may lose it. The first answer of a
     * delivery stays. Shown by GetEvent; an answer for an event that is not stored is shown nowhere.
     * </pre>
     */
    public io.github.idemsvc.v1.RecordDeliveryAnswerResponse recordDeliveryAnswer(io.github.idemsvc.v1.RecordDeliveryAnswerRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordDeliveryAnswerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service IdempotencyService.
   * <pre>
   * IdempotencyService tells a fleet of consumers who may process an event, and remembers the answer.
   * For every method:
   * - No reply says more than what a durable commit holds.
   * - Every call is safe to repeat with the same identity: same answer, no second change, no second attempt counted. After a lost
   *   answer, repeat; do not guess.
   * - All times that decide something are the database's. Clocks of clients and servers may be wrong by hours.
   * - Strings are valid UTF-8 without NUL; limits are in bytes, are checked before anything is stored, and are refused with the
   *   field's name. `bytes` fields are kept exactly. A request is at most 4 MiB.
   * - Nothing of one namespace appears in an answer to another.
   * - The bearer token travels as "authorization: Bearer ...". Trace context travels as W3C traceparent metadata.
   * </pre>
   */
  public static final class IdempotencyServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<IdempotencyServiceFutureStub> {
    private IdempotencyServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IdempotencyServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IdempotencyServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * ClaimEvent asks: is this event mine to process now?
     * At most one live claim exists for (namespace, consumer, source, event_id), whatever crashes. A claim is committed before it is
     * answered. Repeat-safe by claimant: the same claimant gets the claim it has, with the same token; another one gets IN_PROGRESS.
     * Duplicates get the stored result. Act on advice; ClaimOutcome documents each answer and what to tell the provider.
     * A claim that is neither ended nor extended ends with its lease; then stale_claim and the attempts left decide.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ClaimEventResponse> claimEvent(
        io.github.idemsvc.v1.ClaimEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getClaimEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ClaimEvents does ClaimEvent for up to 1000 events of one consumer, 4 MiB in all.
     * Each item is granted, refused or failed for itself; there is no all-or-nothing. Repeat-safe by (claimant, index). Never waits.
     * Results and payloads come up to a byte budget, then result_omitted. A provider that sends arrays is answered 2xx only if every
     * item's advice is ACKNOWLEDGE or was processed; else 503: finished items are then recognised as duplicates.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ClaimEventsResponse> claimEvents(
        io.github.idemsvc.v1.ClaimEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getClaimEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CompleteEvent ends a claim with success and stores the result, at most 65536 bytes.
     * Durable when answered: state, result, outputs, applied versions and freed lanes in one commit. Repeat-safe by token: the same
     * result answers already_completed, another one ALREADY_ENDED. Accepted after the lease as long as nobody took the event or its
     * lanes; then CLAIM_LOST. A refused completion leaves the claim live. Answer the provider 2xx afterwards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.CompleteEventResponse> completeEvent(
        io.github.idemsvc.v1.CompleteEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompleteEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CompleteEvents does CompleteEvent for up to 1000 claims, 4 MiB in all, each for itself. Repeat-safe by token.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.CompleteEventsResponse> completeEvents(
        io.github.idemsvc.v1.CompleteEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompleteEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * FailEvent ends a claim with a failure: RETRYABLE, TERMINAL or NOT_YET.
     * Durable when answered. The attempt counts once. Repeat-safe by token: the stored answer with the same due time. Accepted after the
     * lease as long as nobody took the event; then CLAIM_LOST. Lanes are freed, no version is applied. The provider's answer
     * follows from the state, see FailEventResponse.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.FailEventResponse> failEvent(
        io.github.idemsvc.v1.FailEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getFailEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ExtendClaim keeps a claim alive. Call it at a third of the lease.
     * Durable when answered. Repeating it is harmless: the end only moves later, never earlier. Revives a claim whose lease is over as
     * long as nobody took the event or its lanes; then CLAIM_LOST: stop working. Policy bounds a claim's whole age.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ExtendClaimResponse> extendClaim(
        io.github.idemsvc.v1.ExtendClaimRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExtendClaimMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReleaseClaim gives an event back undone, for example at shutdown.
     * Durable when answered. Not counted as an attempt unless a side effect was begun. Repeat-safe by token: the stored answer. After
     * CLAIM_LOST there is nothing to give back. Answer the provider 503.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ReleaseClaimResponse> releaseClaim(
        io.github.idemsvc.v1.ReleaseClaimRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleaseClaimMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CheckVersion asks: is this version still news for the resource?
     * With a claim token, APPLY reserves the resource until the claim ends, and the version counts as applied when the claim is
     * completed: a completed newer version is never followed by an older one. Repeat-safe by token: same answer, same lane_fence.
     * Without a token it compares and advances at once, in one commit: an at-most-once guard, which a crash right after the answer
     * turns into a version that counts as applied but is not. Repeat-safe by event_ref or request_id. Never waits.
     * VersionDecision documents each answer.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.CheckVersionResponse> checkVersion(
        io.github.idemsvc.v1.CheckVersionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCheckVersionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RecordSideEffect guards one operation that must not happen twice: begin, perform, report.
     * The permission is committed before PERFORM is answered, the fact before the report is. begin is repeat-safe by begin_id, reports
     * by effect token, record by key (the first value wins). begin and record need a live claim where one is given; done, not_done
     * and unknown are accepted after it is lost, because facts are never refused. At most 256 effects and 256 KiB of their
     * bytes per event. EffectOutcome documents each answer.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.RecordSideEffectResponse> recordSideEffect(
        io.github.idemsvc.v1.RecordSideEffectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecordSideEffectMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReceiveEvent keeps an event for later work, for one or several consumers, without a claim.
     * Record, payload (once per event ref and payload hash, or where the caller keeps it) and allow-listed headers are durable when
     * answered: then the provider may be told 2xx. Repeat-safe by delivery.request_id. Later receipts are answered DUPLICATE with the
     * event's state and move nothing. A delivery whose signature failed is recorded apart and touches no event. What could never be
     * granted (another kind of version than the resource's, an unknown state machine) is refused. A received event is offered to workers
     * until it is finished; whatever becomes of them, after at most one lease it is claimable, held or dead-lettered.
     * ReceiveOutcome documents each answer.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ReceiveEventResponse> receiveEvent(
        io.github.idemsvc.v1.ReceiveEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReceiveEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReceiveEvents does ReceiveEvent for up to 1000 events, 4 MiB in all, and for at most 1000 consumers of events.
     * Each item is stored, answered or refused for itself; there is no all-or-nothing. Repeat-safe by delivery.request_id, with any of the
     * items. A provider that sends arrays is answered 2xx only if every item's advice is ACKNOWLEDGE; else 503: what was stored is then
     * recognised as a duplicate.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ReceiveEventsResponse> receiveEvents(
        io.github.idemsvc.v1.ReceiveEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReceiveEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AcquireEvents grants events of a consumer that are due, up to 100, and waits up to 60 s for the first one.
     * Due are events that were received, given back, are to be run again after a failure or a worker's end, or are to be replayed. Those
     * that are due for longest come first; of those about one resource one is in flight at a time: the newest first under LATEST_WINS
     * (what it supersedes ends as IGNORED_STALE), the next one under SEQUENTIAL, one for all under SIGNAL. Each is decided as a ClaimEvent at the moment of the
     * grant. A retry's due time is noticed within a second, an event received by the same replica at once, by another one within about
     * half a second. Repeat-safe by claimant: the same claims with the same tokens. A grant that cannot be delivered, because its caller
     * has gone, is given back and not counted. There is no all-or-nothing: each event is a claim for itself.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.AcquireEventsResponse> acquireEvents(
        io.github.idemsvc.v1.AcquireEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquireEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RecordDeliveryAnswer records what a provider was told about a delivery: for answers that cannot ride on the completion or failure
     * of a claim, such as those to receipts, duplicates and events in progress.
     * It decides nothing, so it is written just after the answer, at most a second later, and a crash may lose it. The first answer of a
     * delivery stays. Shown by GetEvent; an answer for an event that is not stored is shown nowhere.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.RecordDeliveryAnswerResponse> recordDeliveryAnswer(
        io.github.idemsvc.v1.RecordDeliveryAnswerRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecordDeliveryAnswerMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CLAIM_EVENT = 0;
  private static final int METHODID_CLAIM_EVENTS = 1;
  private static final int METHODID_COMPLETE_EVENT = 2;
  private static final int METHODID_COMPLETE_EVENTS = 3;
  private static final int METHODID_FAIL_EVENT = 4;
  private static final int METHODID_EXTEND_CLAIM = 5;
  private static final int METHODID_RELEASE_CLAIM = 6;
  private static final int METHODID_CHECK_VERSION = 7;
  private static final int METHODID_RECORD_SIDE_EFFECT = 8;
  private static final int METHODID_RECEIVE_EVENT = 9;
  private static final int METHODID_RECEIVE_EVENTS = 10;
  private static final int METHODID_ACQUIRE_EVENTS = 11;
  private static final int METHODID_RECORD_DELIVERY_ANSWER = 12;
  private static final int METHODID_SESSION = 13;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_CLAIM_EVENT:
          serviceImpl.claimEvent((io.github.idemsvc.v1.ClaimEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventResponse>) responseObserver);
          break;
        case METHODID_CLAIM_EVENTS:
          serviceImpl.claimEvents((io.github.idemsvc.v1.ClaimEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ClaimEventsResponse>) responseObserver);
          break;
        case METHODID_COMPLETE_EVENT:
          serviceImpl.completeEvent((io.github.idemsvc.v1.CompleteEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventResponse>) responseObserver);
          break;
        case METHODID_COMPLETE_EVENTS:
          serviceImpl.completeEvents((io.github.idemsvc.v1.CompleteEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CompleteEventsResponse>) responseObserver);
          break;
        case METHODID_FAIL_EVENT:
          serviceImpl.failEvent((io.github.idemsvc.v1.FailEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.FailEventResponse>) responseObserver);
          break;
        case METHODID_EXTEND_CLAIM:
          serviceImpl.extendClaim((io.github.idemsvc.v1.ExtendClaimRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ExtendClaimResponse>) responseObserver);
          break;
        case METHODID_RELEASE_CLAIM:
          serviceImpl.releaseClaim((io.github.idemsvc.v1.ReleaseClaimRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReleaseClaimResponse>) responseObserver);
          break;
        case METHODID_CHECK_VERSION:
          serviceImpl.checkVersion((io.github.idemsvc.v1.CheckVersionRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.CheckVersionResponse>) responseObserver);
          break;
        case METHODID_RECORD_SIDE_EFFECT:
          serviceImpl.recordSideEffect((io.github.idemsvc.v1.RecordSideEffectRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordSideEffectResponse>) responseObserver);
          break;
        case METHODID_RECEIVE_EVENT:
          serviceImpl.receiveEvent((io.github.idemsvc.v1.ReceiveEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventResponse>) responseObserver);
          break;
        case METHODID_RECEIVE_EVENTS:
          serviceImpl.receiveEvents((io.github.idemsvc.v1.ReceiveEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReceiveEventsResponse>) responseObserver);
          break;
        case METHODID_ACQUIRE_EVENTS:
          serviceImpl.acquireEvents((io.github.idemsvc.v1.AcquireEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AcquireEventsResponse>) responseObserver);
          break;
        case METHODID_RECORD_DELIVERY_ANSWER:
          serviceImpl.recordDeliveryAnswer((io.github.idemsvc.v1.RecordDeliveryAnswerRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.RecordDeliveryAnswerResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_SESSION:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.session(
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SessionResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getClaimEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ClaimEventRequest,
              io.github.idemsvc.v1.ClaimEventResponse>(
                service, METHODID_CLAIM_EVENT)))
        .addMethod(
          getClaimEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ClaimEventsRequest,
              io.github.idemsvc.v1.ClaimEventsResponse>(
                service, METHODID_CLAIM_EVENTS)))
        .addMethod(
          getCompleteEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.CompleteEventRequest,
              io.github.idemsvc.v1.CompleteEventResponse>(
                service, METHODID_COMPLETE_EVENT)))
        .addMethod(
          getCompleteEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.CompleteEventsRequest,
              io.github.idemsvc.v1.CompleteEventsResponse>(
                service, METHODID_COMPLETE_EVENTS)))
        .addMethod(
          getFailEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.FailEventRequest,
              io.github.idemsvc.v1.FailEventResponse>(
                service, METHODID_FAIL_EVENT)))
        .addMethod(
          getExtendClaimMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ExtendClaimRequest,
              io.github.idemsvc.v1.ExtendClaimResponse>(
                service, METHODID_EXTEND_CLAIM)))
        .addMethod(
          getReleaseClaimMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ReleaseClaimRequest,
              io.github.idemsvc.v1.ReleaseClaimResponse>(
                service, METHODID_RELEASE_CLAIM)))
        .addMethod(
          getCheckVersionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.CheckVersionRequest,
              io.github.idemsvc.v1.CheckVersionResponse>(
                service, METHODID_CHECK_VERSION)))
        .addMethod(
          getRecordSideEffectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.RecordSideEffectRequest,
              io.github.idemsvc.v1.RecordSideEffectResponse>(
                service, METHODID_RECORD_SIDE_EFFECT)))
        .addMethod(
          getReceiveEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ReceiveEventRequest,
              io.github.idemsvc.v1.ReceiveEventResponse>(
                service, METHODID_RECEIVE_EVENT)))
        .addMethod(
          getReceiveEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ReceiveEventsRequest,
              io.github.idemsvc.v1.ReceiveEventsResponse>(
                service, METHODID_RECEIVE_EVENTS)))
        .addMethod(
          getAcquireEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.AcquireEventsRequest,
              io.github.idemsvc.v1.AcquireEventsResponse>(
                service, METHODID_ACQUIRE_EVENTS)))
        .addMethod(
          getSessionMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.github.idemsvc.v1.SessionRequest,
              io.github.idemsvc.v1.SessionResponse>(
                service, METHODID_SESSION)))
        .addMethod(
          getRecordDeliveryAnswerMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.RecordDeliveryAnswerRequest,
              io.github.idemsvc.v1.RecordDeliveryAnswerResponse>(
                service, METHODID_RECORD_DELIVERY_ANSWER)))
        .build();
  }

  private static abstract class IdempotencyServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    IdempotencyServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.idemsvc.v1.IdempotencyServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("IdempotencyService");
    }
  }

  private static final class IdempotencyServiceFileDescriptorSupplier
      extends IdempotencyServiceBaseDescriptorSupplier {
    IdempotencyServiceFileDescriptorSupplier() {}
  }

  private static final class IdempotencyServiceMethodDescriptorSupplier
      extends IdempotencyServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    IdempotencyServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (IdempotencyServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new IdempotencyServiceFileDescriptorSupplier())
              .addMethod(getClaimEventMethod())
              .addMethod(getClaimEventsMethod())
              .addMethod(getCompleteEventMethod())
              .addMethod(getCompleteEventsMethod())
              .addMethod(getFailEventMethod())
              .addMethod(getExtendClaimMethod())
              .addMethod(getReleaseClaimMethod())
              .addMethod(getCheckVersionMethod())
              .addMethod(getRecordSideEffectMethod())
              .addMethod(getReceiveEventMethod())
              .addMethod(getReceiveEventsMethod())
              .addMethod(getAcquireEventsMethod())
              .addMethod(getSessionMethod())
              .addMethod(getRecordDeliveryAnswerMethod())
              .build();
        }
      }
    }
    return result;
  }
}
