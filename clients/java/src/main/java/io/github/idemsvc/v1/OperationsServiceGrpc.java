package io.github.idemsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
 * (index_lag).
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class OperationsServiceGrpc {

  private OperationsServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "idemsvc.v1.OperationsService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetEventRequest,
      io.github.idemsvc.v1.GetEventResponse> getGetEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEvent",
      requestType = io.github.idemsvc.v1.GetEventRequest.class,
      responseType = io.github.idemsvc.v1.GetEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetEventRequest,
      io.github.idemsvc.v1.GetEventResponse> getGetEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetEventRequest, io.github.idemsvc.v1.GetEventResponse> getGetEventMethod;
    if ((getGetEventMethod = OperationsServiceGrpc.getGetEventMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getGetEventMethod = OperationsServiceGrpc.getGetEventMethod) == null) {
          OperationsServiceGrpc.getGetEventMethod = getGetEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.GetEventRequest, io.github.idemsvc.v1.GetEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("GetEvent"))
              .build();
        }
      }
    }
    return getGetEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetPoliciesRequest,
      io.github.idemsvc.v1.GetPoliciesResponse> getGetPoliciesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetPolicies",
      requestType = io.github.idemsvc.v1.GetPoliciesRequest.class,
      responseType = io.github.idemsvc.v1.GetPoliciesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetPoliciesRequest,
      io.github.idemsvc.v1.GetPoliciesResponse> getGetPoliciesMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetPoliciesRequest, io.github.idemsvc.v1.GetPoliciesResponse> getGetPoliciesMethod;
    if ((getGetPoliciesMethod = OperationsServiceGrpc.getGetPoliciesMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getGetPoliciesMethod = OperationsServiceGrpc.getGetPoliciesMethod) == null) {
          OperationsServiceGrpc.getGetPoliciesMethod = getGetPoliciesMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.GetPoliciesRequest, io.github.idemsvc.v1.GetPoliciesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetPolicies"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetPoliciesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetPoliciesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("GetPolicies"))
              .build();
        }
      }
    }
    return getGetPoliciesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ApplyPoliciesRequest,
      io.github.idemsvc.v1.ApplyPoliciesResponse> getApplyPoliciesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ApplyPolicies",
      requestType = io.github.idemsvc.v1.ApplyPoliciesRequest.class,
      responseType = io.github.idemsvc.v1.ApplyPoliciesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ApplyPoliciesRequest,
      io.github.idemsvc.v1.ApplyPoliciesResponse> getApplyPoliciesMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ApplyPoliciesRequest, io.github.idemsvc.v1.ApplyPoliciesResponse> getApplyPoliciesMethod;
    if ((getApplyPoliciesMethod = OperationsServiceGrpc.getApplyPoliciesMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getApplyPoliciesMethod = OperationsServiceGrpc.getApplyPoliciesMethod) == null) {
          OperationsServiceGrpc.getApplyPoliciesMethod = getApplyPoliciesMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ApplyPoliciesRequest, io.github.idemsvc.v1.ApplyPoliciesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ApplyPolicies"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ApplyPoliciesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ApplyPoliciesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("ApplyPolicies"))
              .build();
        }
      }
    }
    return getApplyPoliciesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ListEventsRequest,
      io.github.idemsvc.v1.ListEventsResponse> getListEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListEvents",
      requestType = io.github.idemsvc.v1.ListEventsRequest.class,
      responseType = io.github.idemsvc.v1.ListEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ListEventsRequest,
      io.github.idemsvc.v1.ListEventsResponse> getListEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ListEventsRequest, io.github.idemsvc.v1.ListEventsResponse> getListEventsMethod;
    if ((getListEventsMethod = OperationsServiceGrpc.getListEventsMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getListEventsMethod = OperationsServiceGrpc.getListEventsMethod) == null) {
          OperationsServiceGrpc.getListEventsMethod = getListEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ListEventsRequest, io.github.idemsvc.v1.ListEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ListEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ListEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("ListEvents"))
              .build();
        }
      }
    }
    return getListEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveEventRequest,
      io.github.idemsvc.v1.ResolveEventResponse> getResolveEventMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResolveEvent",
      requestType = io.github.idemsvc.v1.ResolveEventRequest.class,
      responseType = io.github.idemsvc.v1.ResolveEventResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveEventRequest,
      io.github.idemsvc.v1.ResolveEventResponse> getResolveEventMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveEventRequest, io.github.idemsvc.v1.ResolveEventResponse> getResolveEventMethod;
    if ((getResolveEventMethod = OperationsServiceGrpc.getResolveEventMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getResolveEventMethod = OperationsServiceGrpc.getResolveEventMethod) == null) {
          OperationsServiceGrpc.getResolveEventMethod = getResolveEventMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ResolveEventRequest, io.github.idemsvc.v1.ResolveEventResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResolveEvent"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ResolveEventRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ResolveEventResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("ResolveEvent"))
              .build();
        }
      }
    }
    return getResolveEventMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveSideEffectRequest,
      io.github.idemsvc.v1.ResolveSideEffectResponse> getResolveSideEffectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResolveSideEffect",
      requestType = io.github.idemsvc.v1.ResolveSideEffectRequest.class,
      responseType = io.github.idemsvc.v1.ResolveSideEffectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveSideEffectRequest,
      io.github.idemsvc.v1.ResolveSideEffectResponse> getResolveSideEffectMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ResolveSideEffectRequest, io.github.idemsvc.v1.ResolveSideEffectResponse> getResolveSideEffectMethod;
    if ((getResolveSideEffectMethod = OperationsServiceGrpc.getResolveSideEffectMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getResolveSideEffectMethod = OperationsServiceGrpc.getResolveSideEffectMethod) == null) {
          OperationsServiceGrpc.getResolveSideEffectMethod = getResolveSideEffectMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ResolveSideEffectRequest, io.github.idemsvc.v1.ResolveSideEffectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResolveSideEffect"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ResolveSideEffectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ResolveSideEffectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("ResolveSideEffect"))
              .build();
        }
      }
    }
    return getResolveSideEffectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReplayEventsRequest,
      io.github.idemsvc.v1.ReplayEventsResponse> getReplayEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplayEvents",
      requestType = io.github.idemsvc.v1.ReplayEventsRequest.class,
      responseType = io.github.idemsvc.v1.ReplayEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReplayEventsRequest,
      io.github.idemsvc.v1.ReplayEventsResponse> getReplayEventsMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.ReplayEventsRequest, io.github.idemsvc.v1.ReplayEventsResponse> getReplayEventsMethod;
    if ((getReplayEventsMethod = OperationsServiceGrpc.getReplayEventsMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getReplayEventsMethod = OperationsServiceGrpc.getReplayEventsMethod) == null) {
          OperationsServiceGrpc.getReplayEventsMethod = getReplayEventsMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.ReplayEventsRequest, io.github.idemsvc.v1.ReplayEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplayEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReplayEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.ReplayEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("ReplayEvents"))
              .build();
        }
      }
    }
    return getReplayEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetServerInfoRequest,
      io.github.idemsvc.v1.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = io.github.idemsvc.v1.GetServerInfoRequest.class,
      responseType = io.github.idemsvc.v1.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetServerInfoRequest,
      io.github.idemsvc.v1.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetServerInfoRequest, io.github.idemsvc.v1.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = OperationsServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (OperationsServiceGrpc.class) {
        if ((getGetServerInfoMethod = OperationsServiceGrpc.getGetServerInfoMethod) == null) {
          OperationsServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.GetServerInfoRequest, io.github.idemsvc.v1.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new OperationsServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static OperationsServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<OperationsServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<OperationsServiceStub>() {
        @java.lang.Override
        public OperationsServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new OperationsServiceStub(channel, callOptions);
        }
      };
    return OperationsServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static OperationsServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<OperationsServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<OperationsServiceBlockingV2Stub>() {
        @java.lang.Override
        public OperationsServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new OperationsServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return OperationsServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static OperationsServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<OperationsServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<OperationsServiceBlockingStub>() {
        @java.lang.Override
        public OperationsServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new OperationsServiceBlockingStub(channel, callOptions);
        }
      };
    return OperationsServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static OperationsServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<OperationsServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<OperationsServiceFutureStub>() {
        @java.lang.Override
        public OperationsServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new OperationsServiceFutureStub(channel, callOptions);
        }
      };
    return OperationsServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * GetEvent tells everything about an event by its reference alone: every consumer, delivery, attempt, effect and version.
     * Answers NOT_FOUND if no event of the namespace matches; one of another namespace answers the same. Large parts are left out
     * rather than failing the call, and are marked where they are. Repeating is harmless.
     * </pre>
     */
    default void getEvent(io.github.idemsvc.v1.GetEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetPolicies tells a namespace's policies, earlier versions of them, and what holds for an event, with the reason of each
     * default.
     * Answers NOT_FOUND for a version that never was. Repeating is harmless.
     * </pre>
     */
    default void getPolicies(io.github.idemsvc.v1.GetPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetPoliciesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetPoliciesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ApplyPolicies puts all policies of a namespace into force as a new version, on every replica within a second, or with dry_run
     * tells what that would change. What is wrong with them is told as violations, up to eight, each with its field and limit, and
     * nothing is changed then.
     * Answers POLICIES_CHANGED where another version is in force than the change was made from. Repeating with base_version never
     * applies twice; policies that are in force already make no new version.
     * </pre>
     */
    default void applyPolicies(io.github.idemsvc.v1.ApplyPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ApplyPoliciesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getApplyPoliciesMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListEvents pages through the events of a namespace by a filter: what is held, dead, waiting or stuck, what belongs to a resource or a
     * correlation, what was first delivered in a time range.
     * Every list is served by an index, so a filter needs at least one of: states that all stand for unfinished work (RECEIVED,
     * PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id,
     * or first_seen_from with first_seen_until at most 31 days apart. Any other is refused with INVALID_ARGUMENT (filter), which says so.
     * What cannot be read is listed as damaged and never fails a page. Repeating is harmless.
     * </pre>
     */
    default void listEvents(io.github.idemsvc.v1.ListEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ListEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * ResolveEvent decides about the processing of an event by one consumer: it was processed, may run again, or is given up.
     * What may be decided: HELD as processed, retry or terminal; BLOCKED_LOOP, DEAD_LETTERED and FAILED_TERMINAL as retry, and so is an
     * event that waits for a version before its own. Anything else is refused with NOT_RESOLVABLE and changes nothing. An event that is
     * held or waits for what is missing or dead before its version, or is held beside another of the same version, runs without as retry;
     * an unfinished event before it is never passed over. Who decided (the token's name), why and the request ID go into the journal.
     * Repeating with the same request_id is answered alike, whatever became of the event since.
     * </pre>
     */
    default void resolveEvent(io.github.idemsvc.v1.ResolveEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveEventResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResolveEventMethod(), responseObserver);
    }

    /**
     * <pre>
     * ResolveSideEffect says how a side effect of unknown outcome ended, or that one which is done is to be done again.
     * What may be decided: UNKNOWN (also BEGUN with its lease over) as done or not_done; NOT_DONE as done; DONE as redo. Anything else is
     * refused with NOT_RESOLVABLE and changes nothing. Journaled and repeatable as ResolveEvent.
     * </pre>
     */
    default void resolveSideEffect(io.github.idemsvc.v1.ResolveSideEffectRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveSideEffectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResolveSideEffectMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReplayEvents starts a deliberate second processing of finished events: named ones, or those that a filter finds; or has another
     * consumer work on them.
     * A replayed event is RECEIVED again with a round of its own and is granted, flagged is_replay, only to who accepts replays; other
     * deliveries are meanwhile answered with what it was settled as. Its finished side effects stay done. A call that starts nothing is
     * never OK: it is refused with NOT_FOUND or REPLAY_REFUSED. Repeating with the same request_id is the same run, about the same
     * events, and starts nothing a second time, unless 32 later runs have replayed an event since. At most 1000 events a call, and 1000
     * a minute for each namespace and server, beyond which it is refused with OVERLOADED before anything is done.
     * With to_consumer it is a backfill: another consumer is to work on events that the service has, as on its first ones. Its workers'
     * claims of them are flagged is_replay, too; a delivery that comes before them is granted for itself.
     * </pre>
     */
    default void replayEvents(io.github.idemsvc.v1.ReplayEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReplayEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplayEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetServerInfo tells version, limits and features of the server. Any valid token may call it, in whichever role.
     * </pre>
     */
    default void getServerInfo(io.github.idemsvc.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service OperationsService.
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public static abstract class OperationsServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return OperationsServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service OperationsService.
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public static final class OperationsServiceStub
      extends io.grpc.stub.AbstractAsyncStub<OperationsServiceStub> {
    private OperationsServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected OperationsServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new OperationsServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetEvent tells everything about an event by its reference alone: every consumer, delivery, attempt, effect and version.
     * Answers NOT_FOUND if no event of the namespace matches; one of another namespace answers the same. Large parts are left out
     * rather than failing the call, and are marked where they are. Repeating is harmless.
     * </pre>
     */
    public void getEvent(io.github.idemsvc.v1.GetEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetPolicies tells a namespace's policies, earlier versions of them, and what holds for an event, with the reason of each
     * default.
     * Answers NOT_FOUND for a version that never was. Repeating is harmless.
     * </pre>
     */
    public void getPolicies(io.github.idemsvc.v1.GetPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetPoliciesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetPoliciesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ApplyPolicies puts all policies of a namespace into force as a new version, on every replica within a second, or with dry_run
     * tells what that would change. What is wrong with them is told as violations, up to eight, each with its field and limit, and
     * nothing is changed then.
     * Answers POLICIES_CHANGED where another version is in force than the change was made from. Repeating with base_version never
     * applies twice; policies that are in force already make no new version.
     * </pre>
     */
    public void applyPolicies(io.github.idemsvc.v1.ApplyPoliciesRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ApplyPoliciesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getApplyPoliciesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListEvents pages through the events of a namespace by a filter: what is held, dead, waiting or stuck, what belongs to a resource or a
     * correlation, what was first delivered in a time range.
     * Every list is served by an index, so a filter needs at least one of: states that all stand for unfinished work (RECEIVED,
     * PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id,
     * or first_seen_from with first_seen_until at most 31 days apart. Any other is refused with INVALID_ARGUMENT (filter), which says so.
     * What cannot be read is listed as damaged and never fails a page. Repeating is harmless.
     * </pre>
     */
    public void listEvents(io.github.idemsvc.v1.ListEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ListEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ResolveEvent decides about the processing of an event by one consumer: it was processed, may run again, or is given up.
     * What may be decided: HELD as processed, retry or terminal; BLOCKED_LOOP, DEAD_LETTERED and FAILED_TERMINAL as retry, and so is an
     * event that waits for a version before its own. Anything else is refused with NOT_RESOLVABLE and changes nothing. An event that is
     * held or waits for what is missing or dead before its version, or is held beside another of the same version, runs without as retry;
     * an unfinished event before it is never passed over. Who decided (the token's name), why and the request ID go into the journal.
     * Repeating with the same request_id is answered alike, whatever became of the event since.
     * </pre>
     */
    public void resolveEvent(io.github.idemsvc.v1.ResolveEventRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveEventResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResolveEventMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ResolveSideEffect says how a side effect of unknown outcome ended, or that one which is done is to be done again.
     * What may be decided: UNKNOWN (also BEGUN with its lease over) as done or not_done; NOT_DONE as done; DONE as redo. Anything else is
     * refused with NOT_RESOLVABLE and changes nothing. Journaled and repeatable as ResolveEvent.
     * </pre>
     */
    public void resolveSideEffect(io.github.idemsvc.v1.ResolveSideEffectRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveSideEffectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResolveSideEffectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReplayEvents starts a deliberate second processing of finished events: named ones, or those that a filter finds; or has another
     * consumer work on them.
     * A replayed event is RECEIVED again with a round of its own and is granted, flagged is_replay, only to who accepts replays; other
     * deliveries are meanwhile answered with what it was settled as. Its finished side effects stay done. A call that starts nothing is
     * never OK: it is refused with NOT_FOUND or REPLAY_REFUSED. Repeating with the same request_id is the same run, about the same
     * events, and starts nothing a second time, unless 32 later runs have replayed an event since. At most 1000 events a call, and 1000
     * a minute for each namespace and server, beyond which it is refused with OVERLOADED before anything is done.
     * With to_consumer it is a backfill: another consumer is to work on events that the service has, as on its first ones. Its workers'
     * claims of them are flagged is_replay, too; a delivery that comes before them is granted for itself.
     * </pre>
     */
    public void replayEvents(io.github.idemsvc.v1.ReplayEventsRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReplayEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplayEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetServerInfo tells version, limits and features of the server. Any valid token may call it, in whichever role.
     * </pre>
     */
    public void getServerInfo(io.github.idemsvc.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service OperationsService.
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public static final class OperationsServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<OperationsServiceBlockingV2Stub> {
    private OperationsServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected OperationsServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new OperationsServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * GetEvent tells everything about an event by its reference alone: every consumer, delivery, attempt, effect and version.
     * Answers NOT_FOUND if no event of the namespace matches; one of another namespace answers the same. Large parts are left out
     * rather than failing the call, and are marked where they are. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.GetEventResponse getEvent(io.github.idemsvc.v1.GetEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetPolicies tells a namespace's policies, earlier versions of them, and what holds for an event, with the reason of each
     * default.
     * Answers NOT_FOUND for a version that never was. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.GetPoliciesResponse getPolicies(io.github.idemsvc.v1.GetPoliciesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ApplyPolicies puts all policies of a namespace into force as a new version, on every replica within a second, or with dry_run
     * tells what that would change. What is wrong with them is told as violations, up to eight, each with its field and limit, and
     * nothing is changed then.
     * Answers POLICIES_CHANGED where another version is in force than the change was made from. Repeating with base_version never
     * applies twice; policies that are in force already make no new version.
     * </pre>
     */
    public io.github.idemsvc.v1.ApplyPoliciesResponse applyPolicies(io.github.idemsvc.v1.ApplyPoliciesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getApplyPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListEvents pages through the events of a namespace by a filter: what is held, dead, waiting or stuck, what belongs to a resource or a
     * correlation, what was first delivered in a time range.
     * Every list is served by an index, so a filter needs at least one of: states that all stand for unfinished work (RECEIVED,
     * PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id,
     * or first_seen_from with first_seen_until at most 31 days apart. Any other is refused with INVALID_ARGUMENT (filter), which says so.
     * What cannot be read is listed as damaged and never fails a page. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.ListEventsResponse listEvents(io.github.idemsvc.v1.ListEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResolveEvent decides about the processing of an event by one consumer: it was processed, may run again, or is given up.
     * What may be decided: HELD as processed, retry or terminal; BLOCKED_LOOP, DEAD_LETTERED and FAILED_TERMINAL as retry, and so is an
     * event that waits for a version before its own. Anything else is refused with NOT_RESOLVABLE and changes nothing. An event that is
     * held or waits for what is missing or dead before its version, or is held beside another of the same version, runs without as retry;
     * an unfinished event before it is never passed over. Who decided (the token's name), why and the request ID go into the journal.
     * Repeating with the same request_id is answered alike, whatever became of the event since.
     * </pre>
     */
    public io.github.idemsvc.v1.ResolveEventResponse resolveEvent(io.github.idemsvc.v1.ResolveEventRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResolveEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResolveSideEffect says how a side effect of unknown outcome ended, or that one which is done is to be done again.
     * What may be decided: UNKNOWN (also BEGUN with its lease over) as done or not_done; NOT_DONE as done; DONE as redo. Anything else is
     * refused with NOT_RESOLVABLE and changes nothing. Journaled and repeatable as ResolveEvent.
     * </pre>
     */
    public io.github.idemsvc.v1.ResolveSideEffectResponse resolveSideEffect(io.github.idemsvc.v1.ResolveSideEffectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResolveSideEffectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReplayEvents starts a deliberate second processing of finished events: named ones, or those that a filter finds; or has another
     * consumer work on them.
     * A replayed event is RECEIVED again with a round of its own and is granted, flagged is_replay, only to who accepts replays; other
     * deliveries are meanwhile answered with what it was settled as. Its finished side effects stay done. A call that starts nothing is
     * never OK: it is refused with NOT_FOUND or REPLAY_REFUSED. Repeating with the same request_id is the same run, about the same
     * events, and starts nothing a second time, unless 32 later runs have replayed an event since. At most 1000 events a call, and 1000
     * a minute for each namespace and server, beyond which it is refused with OVERLOADED before anything is done.
     * With to_consumer it is a backfill: another consumer is to work on events that the service has, as on its first ones. Its workers'
     * claims of them are flagged is_replay, too; a delivery that comes before them is granted for itself.
     * </pre>
     */
    public io.github.idemsvc.v1.ReplayEventsResponse replayEvents(io.github.idemsvc.v1.ReplayEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplayEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetServerInfo tells version, limits and features of the server. Any valid token may call it, in whichever role.
     * </pre>
     */
    public io.github.idemsvc.v1.GetServerInfoResponse getServerInfo(io.github.idemsvc.v1.GetServerInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service OperationsService.
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public static final class OperationsServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<OperationsServiceBlockingStub> {
    private OperationsServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected OperationsServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new OperationsServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetEvent tells everything about an event by its reference alone: every consumer, delivery, attempt, effect and version.
     * Answers NOT_FOUND if no event of the namespace matches; one of another namespace answers the same. Large parts are left out
     * rather than failing the call, and are marked where they are. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.GetEventResponse getEvent(io.github.idemsvc.v1.GetEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetPolicies tells a namespace's policies, earlier versions of them, and what holds for an event, with the reason of each
     * default.
     * Answers NOT_FOUND for a version that never was. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.GetPoliciesResponse getPolicies(io.github.idemsvc.v1.GetPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ApplyPolicies puts all policies of a namespace into force as a new version, on every replica within a second, or with dry_run
     * tells what that would change. What is wrong with them is told as violations, up to eight, each with its field and limit, and
     * nothing is changed then.
     * Answers POLICIES_CHANGED where another version is in force than the change was made from. Repeating with base_version never
     * applies twice; policies that are in force already make no new version.
     * </pre>
     */
    public io.github.idemsvc.v1.ApplyPoliciesResponse applyPolicies(io.github.idemsvc.v1.ApplyPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getApplyPoliciesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListEvents pages through the events of a namespace by a filter: what is held, dead, waiting or stuck, what belongs to a resource or a
     * correlation, what was first delivered in a time range.
     * Every list is served by an index, so a filter needs at least one of: states that all stand for unfinished work (RECEIVED,
     * PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id,
     * or first_seen_from with first_seen_until at most 31 days apart. Any other is refused with INVALID_ARGUMENT (filter), which says so.
     * What cannot be read is listed as damaged and never fails a page. Repeating is harmless.
     * </pre>
     */
    public io.github.idemsvc.v1.ListEventsResponse listEvents(io.github.idemsvc.v1.ListEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResolveEvent decides about the processing of an event by one consumer: it was processed, may run again, or is given up.
     * What may be decided: HELD as processed, retry or terminal; BLOCKED_LOOP, DEAD_LETTERED and FAILED_TERMINAL as retry, and so is an
     * event that waits for a version before its own. Anything else is refused with NOT_RESOLVABLE and changes nothing. An event that is
     * held or waits for what is missing or dead before its version, or is held beside another of the same version, runs without as retry;
     * an unfinished event before it is never passed over. Who decided (the token's name), why and the request ID go into the journal.
     * Repeating with the same request_id is answered alike, whatever became of the event since.
     * </pre>
     */
    public io.github.idemsvc.v1.ResolveEventResponse resolveEvent(io.github.idemsvc.v1.ResolveEventRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResolveEventMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ResolveSideEffect says how a side effect of unknown outcome ended, or that one which is done is to be done again.
     * What may be decided: UNKNOWN (also BEGUN with its lease over) as done or not_done; NOT_DONE as done; DONE as redo. Anything else is
     * refused with NOT_RESOLVABLE and changes nothing. Journaled and repeatable as ResolveEvent.
     * </pre>
     */
    public io.github.idemsvc.v1.ResolveSideEffectResponse resolveSideEffect(io.github.idemsvc.v1.ResolveSideEffectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResolveSideEffectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReplayEvents starts a deliberate second processing of finished events: named ones, or those that a filter finds; or has another
     * consumer work on them.
     * A replayed event is RECEIVED again with a round of its own and is granted, flagged is_replay, only to who accepts replays; other
     * deliveries are meanwhile answered with what it was settled as. Its finished side effects stay done. A call that starts nothing is
     * never OK: it is refused with NOT_FOUND or REPLAY_REFUSED. Repeating with the same request_id is the same run, about the same
     * events, and starts nothing a second time, unless 32 later runs have replayed an event since. At most 1000 events a call, and 1000
     * a minute for each namespace and server, beyond which it is refused with OVERLOADED before anything is done.
     * With to_consumer it is a backfill: another consumer is to work on events that the service has, as on its first ones. Its workers'
     * claims of them are flagged is_replay, too; a delivery that comes before them is granted for itself.
     * </pre>
     */
    public io.github.idemsvc.v1.ReplayEventsResponse replayEvents(io.github.idemsvc.v1.ReplayEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplayEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetServerInfo tells version, limits and features of the server. Any valid token may call it, in whichever role.
     * </pre>
     */
    public io.github.idemsvc.v1.GetServerInfoResponse getServerInfo(io.github.idemsvc.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service OperationsService.
   * <pre>
   * OperationsService tells what happened and what holds, and takes an operator's decisions. Its reads may come from a replica and lag
   * (index_lag).
   * </pre>
   */
  public static final class OperationsServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<OperationsServiceFutureStub> {
    private OperationsServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected OperationsServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new OperationsServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetEvent tells everything about an event by its reference alone: every consumer, delivery, attempt, effect and version.
     * Answers NOT_FOUND if no event of the namespace matches; one of another namespace answers the same. Large parts are left out
     * rather than failing the call, and are marked where they are. Repeating is harmless.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.GetEventResponse> getEvent(
        io.github.idemsvc.v1.GetEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetPolicies tells a namespace's policies, earlier versions of them, and what holds for an event, with the reason of each
     * default.
     * Answers NOT_FOUND for a version that never was. Repeating is harmless.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.GetPoliciesResponse> getPolicies(
        io.github.idemsvc.v1.GetPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetPoliciesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ApplyPolicies puts all policies of a namespace into force as a new version, on every replica within a second, or with dry_run
     * tells what that would change. What is wrong with them is told as violations, up to eight, each with its field and limit, and
     * nothing is changed then.
     * Answers POLICIES_CHANGED where another version is in force than the change was made from. Repeating with base_version never
     * applies twice; policies that are in force already make no new version.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ApplyPoliciesResponse> applyPolicies(
        io.github.idemsvc.v1.ApplyPoliciesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getApplyPoliciesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListEvents pages through the events of a namespace by a filter: what is held, dead, waiting or stuck, what belongs to a resource or a
     * correlation, what was first delivered in a time range.
     * Every list is served by an index, so a filter needs at least one of: states that all stand for unfinished work (RECEIVED,
     * PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id,
     * or first_seen_from with first_seen_until at most 31 days apart. Any other is refused with INVALID_ARGUMENT (filter), which says so.
     * What cannot be read is listed as damaged and never fails a page. Repeating is harmless.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ListEventsResponse> listEvents(
        io.github.idemsvc.v1.ListEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ResolveEvent decides about the processing of an event by one consumer: it was processed, may run again, or is given up.
     * What may be decided: HELD as processed, retry or terminal; BLOCKED_LOOP, DEAD_LETTERED and FAILED_TERMINAL as retry, and so is an
     * event that waits for a version before its own. Anything else is refused with NOT_RESOLVABLE and changes nothing. An event that is
     * held or waits for what is missing or dead before its version, or is held beside another of the same version, runs without as retry;
     * an unfinished event before it is never passed over. Who decided (the token's name), why and the request ID go into the journal.
     * Repeating with the same request_id is answered alike, whatever became of the event since.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ResolveEventResponse> resolveEvent(
        io.github.idemsvc.v1.ResolveEventRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResolveEventMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ResolveSideEffect says how a side effect of unknown outcome ended, or that one which is done is to be done again.
     * What may be decided: UNKNOWN (also BEGUN with its lease over) as done or not_done; NOT_DONE as done; DONE as redo. Anything else is
     * refused with NOT_RESOLVABLE and changes nothing. Journaled and repeatable as ResolveEvent.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ResolveSideEffectResponse> resolveSideEffect(
        io.github.idemsvc.v1.ResolveSideEffectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResolveSideEffectMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReplayEvents starts a deliberate second processing of finished events: named ones, or those that a filter finds; or has another
     * consumer work on them.
     * A replayed event is RECEIVED again with a round of its own and is granted, flagged is_replay, only to who accepts replays; other
     * deliveries are meanwhile answered with what it was settled as. Its finished side effects stay done. A call that starts nothing is
     * never OK: it is refused with NOT_FOUND or REPLAY_REFUSED. Repeating with the same request_id is the same run, about the same
     * events, and starts nothing a second time, unless 32 later runs have replayed an event since. At most 1000 events a call, and 1000
     * a minute for each namespace and server, beyond which it is refused with OVERLOADED before anything is done.
     * With to_consumer it is a backfill: another consumer is to work on events that the service has, as on its first ones. Its workers'
     * claims of them are flagged is_replay, too; a delivery that comes before them is granted for itself.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.ReplayEventsResponse> replayEvents(
        io.github.idemsvc.v1.ReplayEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplayEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetServerInfo tells version, limits and features of the server. Any valid token may call it, in whichever role.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.GetServerInfoResponse> getServerInfo(
        io.github.idemsvc.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_EVENT = 0;
  private static final int METHODID_GET_POLICIES = 1;
  private static final int METHODID_APPLY_POLICIES = 2;
  private static final int METHODID_LIST_EVENTS = 3;
  private static final int METHODID_RESOLVE_EVENT = 4;
  private static final int METHODID_RESOLVE_SIDE_EFFECT = 5;
  private static final int METHODID_REPLAY_EVENTS = 6;
  private static final int METHODID_GET_SERVER_INFO = 7;

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
        case METHODID_GET_EVENT:
          serviceImpl.getEvent((io.github.idemsvc.v1.GetEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetEventResponse>) responseObserver);
          break;
        case METHODID_GET_POLICIES:
          serviceImpl.getPolicies((io.github.idemsvc.v1.GetPoliciesRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetPoliciesResponse>) responseObserver);
          break;
        case METHODID_APPLY_POLICIES:
          serviceImpl.applyPolicies((io.github.idemsvc.v1.ApplyPoliciesRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ApplyPoliciesResponse>) responseObserver);
          break;
        case METHODID_LIST_EVENTS:
          serviceImpl.listEvents((io.github.idemsvc.v1.ListEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ListEventsResponse>) responseObserver);
          break;
        case METHODID_RESOLVE_EVENT:
          serviceImpl.resolveEvent((io.github.idemsvc.v1.ResolveEventRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveEventResponse>) responseObserver);
          break;
        case METHODID_RESOLVE_SIDE_EFFECT:
          serviceImpl.resolveSideEffect((io.github.idemsvc.v1.ResolveSideEffectRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ResolveSideEffectResponse>) responseObserver);
          break;
        case METHODID_REPLAY_EVENTS:
          serviceImpl.replayEvents((io.github.idemsvc.v1.ReplayEventsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.ReplayEventsResponse>) responseObserver);
          break;
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((io.github.idemsvc.v1.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetServerInfoResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.GetEventRequest,
              io.github.idemsvc.v1.GetEventResponse>(
                service, METHODID_GET_EVENT)))
        .addMethod(
          getGetPoliciesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.GetPoliciesRequest,
              io.github.idemsvc.v1.GetPoliciesResponse>(
                service, METHODID_GET_POLICIES)))
        .addMethod(
          getApplyPoliciesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ApplyPoliciesRequest,
              io.github.idemsvc.v1.ApplyPoliciesResponse>(
                service, METHODID_APPLY_POLICIES)))
        .addMethod(
          getListEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ListEventsRequest,
              io.github.idemsvc.v1.ListEventsResponse>(
                service, METHODID_LIST_EVENTS)))
        .addMethod(
          getResolveEventMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ResolveEventRequest,
              io.github.idemsvc.v1.ResolveEventResponse>(
                service, METHODID_RESOLVE_EVENT)))
        .addMethod(
          getResolveSideEffectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ResolveSideEffectRequest,
              io.github.idemsvc.v1.ResolveSideEffectResponse>(
                service, METHODID_RESOLVE_SIDE_EFFECT)))
        .addMethod(
          getReplayEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.ReplayEventsRequest,
              io.github.idemsvc.v1.ReplayEventsResponse>(
                service, METHODID_REPLAY_EVENTS)))
        .addMethod(
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.GetServerInfoRequest,
              io.github.idemsvc.v1.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .build();
  }

  private static abstract class OperationsServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    OperationsServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.idemsvc.v1.OperationsServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("OperationsService");
    }
  }

  private static final class OperationsServiceFileDescriptorSupplier
      extends OperationsServiceBaseDescriptorSupplier {
    OperationsServiceFileDescriptorSupplier() {}
  }

  private static final class OperationsServiceMethodDescriptorSupplier
      extends OperationsServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    OperationsServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (OperationsServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new OperationsServiceFileDescriptorSupplier())
              .addMethod(getGetEventMethod())
              .addMethod(getGetPoliciesMethod())
              .addMethod(getApplyPoliciesMethod())
              .addMethod(getListEventsMethod())
              .addMethod(getResolveEventMethod())
              .addMethod(getResolveSideEffectMethod())
              .addMethod(getReplayEventsMethod())
              .addMethod(getGetServerInfoMethod())
              .build();
        }
      }
    }
    return result;
  }
}
