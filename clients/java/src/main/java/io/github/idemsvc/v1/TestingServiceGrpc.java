package io.github.idemsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
 * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
 * role would allow the call.
 * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
 * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
 * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
 * tokens, and times that callers state.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class TestingServiceGrpc {

  private TestingServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "idemsvc.v1.TestingService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetClockRequest,
      io.github.idemsvc.v1.GetClockResponse> getGetClockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetClock",
      requestType = io.github.idemsvc.v1.GetClockRequest.class,
      responseType = io.github.idemsvc.v1.GetClockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetClockRequest,
      io.github.idemsvc.v1.GetClockResponse> getGetClockMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.GetClockRequest, io.github.idemsvc.v1.GetClockResponse> getGetClockMethod;
    if ((getGetClockMethod = TestingServiceGrpc.getGetClockMethod) == null) {
      synchronized (TestingServiceGrpc.class) {
        if ((getGetClockMethod = TestingServiceGrpc.getGetClockMethod) == null) {
          TestingServiceGrpc.getGetClockMethod = getGetClockMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.GetClockRequest, io.github.idemsvc.v1.GetClockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetClock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetClockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.GetClockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestingServiceMethodDescriptorSupplier("GetClock"))
              .build();
        }
      }
    }
    return getGetClockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.AdvanceClockRequest,
      io.github.idemsvc.v1.AdvanceClockResponse> getAdvanceClockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AdvanceClock",
      requestType = io.github.idemsvc.v1.AdvanceClockRequest.class,
      responseType = io.github.idemsvc.v1.AdvanceClockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.AdvanceClockRequest,
      io.github.idemsvc.v1.AdvanceClockResponse> getAdvanceClockMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.AdvanceClockRequest, io.github.idemsvc.v1.AdvanceClockResponse> getAdvanceClockMethod;
    if ((getAdvanceClockMethod = TestingServiceGrpc.getAdvanceClockMethod) == null) {
      synchronized (TestingServiceGrpc.class) {
        if ((getAdvanceClockMethod = TestingServiceGrpc.getAdvanceClockMethod) == null) {
          TestingServiceGrpc.getAdvanceClockMethod = getAdvanceClockMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.AdvanceClockRequest, io.github.idemsvc.v1.AdvanceClockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AdvanceClock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.AdvanceClockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.AdvanceClockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestingServiceMethodDescriptorSupplier("AdvanceClock"))
              .build();
        }
      }
    }
    return getAdvanceClockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.idemsvc.v1.SetClockRequest,
      io.github.idemsvc.v1.SetClockResponse> getSetClockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetClock",
      requestType = io.github.idemsvc.v1.SetClockRequest.class,
      responseType = io.github.idemsvc.v1.SetClockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.idemsvc.v1.SetClockRequest,
      io.github.idemsvc.v1.SetClockResponse> getSetClockMethod() {
    io.grpc.MethodDescriptor<io.github.idemsvc.v1.SetClockRequest, io.github.idemsvc.v1.SetClockResponse> getSetClockMethod;
    if ((getSetClockMethod = TestingServiceGrpc.getSetClockMethod) == null) {
      synchronized (TestingServiceGrpc.class) {
        if ((getSetClockMethod = TestingServiceGrpc.getSetClockMethod) == null) {
          TestingServiceGrpc.getSetClockMethod = getSetClockMethod =
              io.grpc.MethodDescriptor.<io.github.idemsvc.v1.SetClockRequest, io.github.idemsvc.v1.SetClockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetClock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.SetClockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.idemsvc.v1.SetClockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestingServiceMethodDescriptorSupplier("SetClock"))
              .build();
        }
      }
    }
    return getSetClockMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static TestingServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestingServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestingServiceStub>() {
        @java.lang.Override
        public TestingServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestingServiceStub(channel, callOptions);
        }
      };
    return TestingServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static TestingServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestingServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestingServiceBlockingV2Stub>() {
        @java.lang.Override
        public TestingServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestingServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return TestingServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static TestingServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestingServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestingServiceBlockingStub>() {
        @java.lang.Override
        public TestingServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestingServiceBlockingStub(channel, callOptions);
        }
      };
    return TestingServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static TestingServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestingServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestingServiceFutureStub>() {
        @java.lang.Override
        public TestingServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestingServiceFutureStub(channel, callOptions);
        }
      };
    return TestingServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * GetClock tells what the clock shows. Any valid token may call it, in whichever role.
     * </pre>
     */
    default void getClock(io.github.idemsvc.v1.GetClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetClockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetClockMethod(), responseObserver);
    }

    /**
     * <pre>
     * AdvanceClock moves the clock forward; running or frozen, it stays that.
     * When it answers, all that passing time does by itself has happened: leases that ended on the way are over, and claims that
     * waited for them are being decided anew. Not safe to repeat: after an error, ask GetClock whether the clock was moved.
     * </pre>
     */
    default void advanceClock(io.github.idemsvc.v1.AdvanceClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AdvanceClockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAdvanceClockMethod(), responseObserver);
    }

    /**
     * <pre>
     * SetClock puts the clock to an instant, forward or back, and freezes it there or lets it run on from there.
     * Instants that are stored stay as they are: put back, the clock makes running leases and delays last longer. Safe to repeat.
     * </pre>
     */
    default void setClock(io.github.idemsvc.v1.SetClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SetClockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetClockMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service TestingService.
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public static abstract class TestingServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return TestingServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service TestingService.
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public static final class TestingServiceStub
      extends io.grpc.stub.AbstractAsyncStub<TestingServiceStub> {
    private TestingServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestingServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestingServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetClock tells what the clock shows. Any valid token may call it, in whichever role.
     * </pre>
     */
    public void getClock(io.github.idemsvc.v1.GetClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetClockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetClockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * AdvanceClock moves the clock forward; running or frozen, it stays that.
     * When it answers, all that passing time does by itself has happened: leases that ended on the way are over, and claims that
     * waited for them are being decided anew. Not safe to repeat: after an error, ask GetClock whether the clock was moved.
     * </pre>
     */
    public void advanceClock(io.github.idemsvc.v1.AdvanceClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AdvanceClockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAdvanceClockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * SetClock puts the clock to an instant, forward or back, and freezes it there or lets it run on from there.
     * Instants that are stored stay as they are: put back, the clock makes running leases and delays last longer. Safe to repeat.
     * </pre>
     */
    public void setClock(io.github.idemsvc.v1.SetClockRequest request,
        io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SetClockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetClockMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service TestingService.
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public static final class TestingServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<TestingServiceBlockingV2Stub> {
    private TestingServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestingServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestingServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * GetClock tells what the clock shows. Any valid token may call it, in whichever role.
     * </pre>
     */
    public io.github.idemsvc.v1.GetClockResponse getClock(io.github.idemsvc.v1.GetClockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetClockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AdvanceClock moves the clock forward; running or frozen, it stays that.
     * When it answers, all that passing time does by itself has happened: leases that ended on the way are over, and claims that
     * waited for them are being decided anew. Not safe to repeat: after an error, ask GetClock whether the clock was moved.
     * </pre>
     */
    public io.github.idemsvc.v1.AdvanceClockResponse advanceClock(io.github.idemsvc.v1.AdvanceClockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAdvanceClockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetClock puts the clock to an instant, forward or back, and freezes it there or lets it run on from there.
     * Instants that are stored stay as they are: put back, the clock makes running leases and delays last longer. Safe to repeat.
     * </pre>
     */
    public io.github.idemsvc.v1.SetClockResponse setClock(io.github.idemsvc.v1.SetClockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetClockMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service TestingService.
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public static final class TestingServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<TestingServiceBlockingStub> {
    private TestingServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestingServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestingServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetClock tells what the clock shows. Any valid token may call it, in whichever role.
     * </pre>
     */
    public io.github.idemsvc.v1.GetClockResponse getClock(io.github.idemsvc.v1.GetClockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetClockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AdvanceClock moves the clock forward; running or frozen, it stays that.
     * When it answers, all that passing time does by itself has happened: leases that ended on the way are over, and claims that
     * waited for them are being decided anew. Not safe to repeat: after an error, ask GetClock whether the clock was moved.
     * </pre>
     */
    public io.github.idemsvc.v1.AdvanceClockResponse advanceClock(io.github.idemsvc.v1.AdvanceClockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAdvanceClockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * SetClock puts the clock to an instant, forward or back, and freezes it there or lets it run on from there.
     * Instants that are stored stay as they are: put back, the clock makes running leases and delays last longer. Safe to repeat.
     * </pre>
     */
    public io.github.idemsvc.v1.SetClockResponse setClock(io.github.idemsvc.v1.SetClockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetClockMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service TestingService.
   * <pre>
   * TestingService moves the clock of a server that keeps nothing, so that tests need not wait for leases and delays to pass.
   * Served by `idemsvc serve --ephemeral` alone, whose features name "test_clock". Any other server answers UNIMPLEMENTED, where the
   * role would allow the call.
   * The clock stands in for the database's: it decides all that this contract leaves to the database's clock, such as the end of
   * leases, the time between attempts and recorded times. It is one for all namespaces and callers, so tests that move it want a
   * server of their own. Not on this clock: deadlines of calls, how long a claim waits (ClaimEventRequest.wait), the end of bearer
   * tokens, and times that callers state.
   * </pre>
   */
  public static final class TestingServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<TestingServiceFutureStub> {
    private TestingServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestingServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestingServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * GetClock tells what the clock shows. Any valid token may call it, in whichever role.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.GetClockResponse> getClock(
        io.github.idemsvc.v1.GetClockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetClockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AdvanceClock moves the clock forward; running or frozen, it stays that.
     * When it answers, all that passing time does by itself has happened: leases that ended on the way are over, and claims that
     * waited for them are being decided anew. Not safe to repeat: after an error, ask GetClock whether the clock was moved.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.AdvanceClockResponse> advanceClock(
        io.github.idemsvc.v1.AdvanceClockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAdvanceClockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * SetClock puts the clock to an instant, forward or back, and freezes it there or lets it run on from there.
     * Instants that are stored stay as they are: put back, the clock makes running leases and delays last longer. Safe to repeat.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.idemsvc.v1.SetClockResponse> setClock(
        io.github.idemsvc.v1.SetClockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetClockMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_CLOCK = 0;
  private static final int METHODID_ADVANCE_CLOCK = 1;
  private static final int METHODID_SET_CLOCK = 2;

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
        case METHODID_GET_CLOCK:
          serviceImpl.getClock((io.github.idemsvc.v1.GetClockRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.GetClockResponse>) responseObserver);
          break;
        case METHODID_ADVANCE_CLOCK:
          serviceImpl.advanceClock((io.github.idemsvc.v1.AdvanceClockRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.AdvanceClockResponse>) responseObserver);
          break;
        case METHODID_SET_CLOCK:
          serviceImpl.setClock((io.github.idemsvc.v1.SetClockRequest) request,
              (io.grpc.stub.StreamObserver<io.github.idemsvc.v1.SetClockResponse>) responseObserver);
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
          getGetClockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.GetClockRequest,
              io.github.idemsvc.v1.GetClockResponse>(
                service, METHODID_GET_CLOCK)))
        .addMethod(
          getAdvanceClockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.AdvanceClockRequest,
              io.github.idemsvc.v1.AdvanceClockResponse>(
                service, METHODID_ADVANCE_CLOCK)))
        .addMethod(
          getSetClockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.idemsvc.v1.SetClockRequest,
              io.github.idemsvc.v1.SetClockResponse>(
                service, METHODID_SET_CLOCK)))
        .build();
  }

  private static abstract class TestingServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    TestingServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.idemsvc.v1.TestingServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("TestingService");
    }
  }

  private static final class TestingServiceFileDescriptorSupplier
      extends TestingServiceBaseDescriptorSupplier {
    TestingServiceFileDescriptorSupplier() {}
  }

  private static final class TestingServiceMethodDescriptorSupplier
      extends TestingServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    TestingServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (TestingServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new TestingServiceFileDescriptorSupplier())
              .addMethod(getGetClockMethod())
              .addMethod(getAdvanceClockMethod())
              .addMethod(getSetClockMethod())
              .build();
        }
      }
    }
    return result;
  }
}
