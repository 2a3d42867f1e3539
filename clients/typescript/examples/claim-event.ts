// Claims an event and completes it: node claim-event.js EVENT_ID

import { randomBytes } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Advice } from "@idemsvc/client/v1/claim_pb.js";
import { IdempotencyService } from "@idemsvc/client/v1/idempotency_service_pb.js";

const eventId = process.argv[2];
const { IDEMSVC_ADDRESS = "127.0.0.1:7443", IDEMSVC_TOKEN = "" } = process.env;
const call = { headers: { authorization: `Bearer ${IDEMSVC_TOKEN}` }, timeoutMs: 30_000 };
const idemsvc = createClient(IdempotencyService, createGrpcTransport({ baseUrl: `http://${IDEMSVC_ADDRESS}` }));

const event = { source: "stripe", eventId, type: "invoice.paid" };
const claimant = randomBytes(16).toString("hex");
const answer = await idemsvc.claimEvent({ namespace: "dev", consumer: "billing", claimant, event }, call);
if (answer.advice === Advice.PROCESS) {
  console.log("processing", eventId);
  const result = new TextEncoder().encode("done in TypeScript");
  await idemsvc.completeEvent({ token: answer.claim?.token, result, contentType: "text/plain" }, call);
} else if (answer.advice === Advice.ACKNOWLEDGE) {
  console.log(`nothing to do for ${eventId}, its result: ${new TextDecoder().decode(answer.existing?.result)}`);
} else {
  // also an advice that this version does not know
  const { seconds = 0n, nanos = 0 } = answer.retryAfter ?? {};
  console.log(`not now: answer 503 and repeat ${eventId} after ${Number(seconds) + Math.ceil(nanos / 1e9)} s`);
}
