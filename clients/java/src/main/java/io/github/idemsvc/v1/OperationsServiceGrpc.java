package io.github.idemsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
   * OperationsService tells what happened. It changes nothing so far; its reads may come from a replica and lag (index_lag).
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
  private static final int METHODID_GET_SERVER_INFO = 1;

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
              .addMethod(getGetServerInfoMethod())
              .build();
        }
      }
    }
    return result;
  }
}
