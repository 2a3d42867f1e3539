"""Claims an event and completes it: claim_event.py EVENT_ID."""

import os
import secrets
import sys

import grpc
from idemsvc.v1 import claim_pb2, completion_pb2, event_pb2, idempotency_service_pb2_grpc

event_id = sys.argv[1]
call = {"metadata": [("authorization", f"Bearer {os.environ.get('IDEMSVC_TOKEN', '')}")], "timeout": 30}
with grpc.insecure_channel(os.environ.get("IDEMSVC_ADDRESS", "127.0.0.1:7443")) as channel:
    idemsvc = idempotency_service_pb2_grpc.IdempotencyServiceStub(channel)
    event = event_pb2.Event(source="stripe", event_id=event_id, type="invoice.paid")
    answer = idemsvc.ClaimEvent(claim_pb2.ClaimEventRequest(
        namespace="dev", consumer="billing", claimant=secrets.token_hex(16), event=event), **call)
    if answer.advice == claim_pb2.ADVICE_PROCESS:
        print("processing", event_id)
        idemsvc.CompleteEvent(completion_pb2.CompleteEventRequest(
            token=answer.claim.token, result=b"done in Python", content_type="text/plain"), **call)
    elif answer.advice == claim_pb2.ADVICE_ACKNOWLEDGE:
        print(f"nothing to do for {event_id}, its result: {answer.existing.result.decode()}")
    else:  # also an advice that this version does not know
        seconds = answer.retry_after.seconds + (answer.retry_after.nanos > 0)
        print(f"not now: answer 503 and repeat {event_id} after {seconds} s")
