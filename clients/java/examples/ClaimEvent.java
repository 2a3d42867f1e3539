import com.google.protobuf.ByteString;
import io.github.idemsvc.v1.*;
import io.grpc.*;
import io.grpc.stub.MetadataUtils;
import java.math.BigInteger;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;

/** Claims an event and completes it: ClaimEvent EVENT_ID. */
public class ClaimEvent {
  public static void main(String[] args) {
    var env = System.getenv();
    var headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + env.getOrDefault("IDEMSVC_TOKEN", ""));
    var channel = Grpc.newChannelBuilder(env.getOrDefault("IDEMSVC_ADDRESS", "127.0.0.1:7443"), InsecureChannelCredentials.create())
        .intercept(MetadataUtils.newAttachHeadersInterceptor(headers)).build();
    var idemsvc = IdempotencyServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);

    var event = Event.newBuilder().setSource("stripe").setEventId(args[0]).setType("invoice.paid");
    var claimant = new BigInteger(128, new SecureRandom()).toString(16);
    var answer = idemsvc.claimEvent(ClaimEventRequest.newBuilder()
        .setNamespace("dev").setConsumer("billing").setClaimant(claimant).setEvent(event).build());
    switch (answer.getAdvice()) {
      case ADVICE_PROCESS -> {
        System.out.println("processing " + args[0]);
        idemsvc.completeEvent(CompleteEventRequest.newBuilder().setToken(answer.getClaim().getToken())
            .setResult(ByteString.copyFromUtf8("done in Java")).setContentType("text/plain").build());
      }
      case ADVICE_ACKNOWLEDGE -> System.out.println(
          "nothing to do for " + args[0] + ", its result: " + answer.getExisting().getResult().toStringUtf8());
      default -> { // also an advice that this version does not know
        var after = answer.getRetryAfter();
        var seconds = after.getSeconds() + (after.getNanos() > 0 ? 1 : 0);
        System.out.println("not now: answer 503 and repeat " + args[0] + " after " + seconds + " s");
      }
    }
    channel.shutdown();
  }
}
