package provoke

import (
	"maps"
	"slices"
	"strings"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// shape is what a provider's delivery looks like. {id} stands for the event's ID, {now}
// for its time in seconds and {ms} for that in milliseconds, {try} for how many deliveries
// of it there were with this one, {retry} for how many before this one, and {sent} for
// this one's time in milliseconds.
type shape struct {
	make   func(secrets ...string) *webhook.Provider
	byURL  func(url string, secrets ...string) *webhook.Provider // for those that sign the URL
	other  string                                                // a secret of the right form that is not the receiver's
	header map[string]string
	again  map[string]string // headers of all deliveries but the first
	body   string
}

func (s *shape) provider(url, secret string) *webhook.Provider {
	if s.byURL != nil {
		return s.byURL(url, secret)
	}
	return s.make(secret)
}

func (s *shape) otherSecret() string {
	if s.other != "" {
		return s.other
	}
	return "a secret that nobody has"
}

// Provider is one that can be played, with its secret. The URL is the one that it was
// given; most need none.
func Provider(name, url, secret string) *webhook.Provider {
	s := shapes[name]
	return s.provider(url, secret)
}

// Providers are those that can be played.
func Providers() []string { return slices.Sorted(maps.Keys(shapes)) }

var (
	otherWhsec = "whsec_" + strings.Repeat("A", 32)
	otherHex   = strings.Repeat("AB", 32)
)

func standard(provider func(...string) *webhook.Provider) shape {
	return shape{make: provider, other: otherWhsec, header: map[string]string{"webhook-id": "{id}"}, body: `{"type":"user.created","data":{"id":"{id}"}}`}
}

var shapes = map[string]shape{
	"stripe": {make: webhook.Stripe, body: `{"id":"{id}","object":"event","type":"invoice.paid","created":{now},"data":{"object":{"id":"in_1","object":"invoice"}},"pending_webhooks":1}`},
	"github": {
		make: webhook.GitHub, header: map[string]string{"X-GitHub-Delivery": "{id}", "X-GitHub-Event": "issues"},
		body: `{"action":"opened","issue":{"id":1,"number":1},"repository":{"id":1}}`,
	},
	"shopify": {
		make: webhook.Shopify, header: map[string]string{"X-Shopify-Event-Id": "{id}", "X-Shopify-Topic": "orders/paid", "X-Shopify-Shop-Domain": "provoke.myshopify.com"},
		body: `{"id":1,"admin_graphql_api_id":"gid://shopify/Order/1"}`,
	},
	"slack": {
		make: webhook.Slack, again: map[string]string{"X-Slack-Retry-Num": "{retry}", "X-Slack-Retry-Reason": "http_error"},
		body: `{"type":"event_callback","event_id":"{id}","event_time":{now},"event":{"type":"message","channel":"C1","ts":"{now}.000100","event_ts":"{now}.000100"}}`,
	},
	"hubspot": {
		byURL: webhook.HubSpot,
		body:  `[{"eventId":"{id}","subscriptionId":1,"portalId":1,"occurredAt":{ms},"subscriptionType":"contact.creation","attemptNumber":{retry},"objectId":1}]`,
	},
	"twilio": {
		byURL: webhook.Twilio, header: map[string]string{"I-Twilio-Idempotency-Token": "{id}", "Content-Type": "application/x-www-form-urlencoded"},
		body: `MessageSid={id}&MessageStatus=sent`,
	},
	"square": {byURL: webhook.Square, body: `{"event_id":"{id}","type":"payment.updated","data":{"type":"payment","id":"1"}}`},
	"gitlab": {make: webhook.GitLab, header: map[string]string{"Idempotency-Key": "{id}", "X-Gitlab-Event": "Push Hook"}, body: `{"object_kind":"push","project_id":1}`},
	"bitbucket": {
		make: webhook.Bitbucket, header: map[string]string{"X-Hook-UUID": "h", "X-Request-UUID": "{id}", "X-Event-Key": "repo:push", "X-Attempt-Number": "{try}"},
		body: `{"repository":{"uuid":"r"}}`,
	},
	"zendesk":  {make: webhook.Zendesk, body: `{"id":"{id}","type":"zen:event-type:ticket.created","subject":"zen:ticket:1"}`},
	"intercom": {make: webhook.Intercom, body: `{"id":"{id}","topic":"contact.created","created_at":{now},"delivery_attempts":{try},"data":{"item":{"type":"contact","id":"1"}}}`},
	"paddle":   {make: webhook.Paddle, body: `{"event_id":"{id}","event_type":"transaction.paid","data":{"id":"txn_1"},"notification_id":"n"}`},
	"meta": {
		make: func(secrets ...string) *webhook.Provider { return webhook.Meta("", secrets...) },
		body: `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messages":[{"id":"{id}","timestamp":"{now}"}]}}]}]}`,
	},
	"linear":            {make: webhook.Linear, header: map[string]string{"Linear-Delivery": "{id}"}, body: `{"action":"create","type":"Issue","data":{"id":"1"},"webhookTimestamp":{sent}}`},
	"typeform":          {make: webhook.Typeform, body: `{"event_id":"{id}","event_type":"form_response","form_response":{"form_id":"f","token":"t"}}`},
	"standard-webhooks": standard(webhook.StandardWebhooks),
	"svix":              standard(webhook.Svix),
	"resend":            standard(webhook.Resend),
	"clerk":             standard(webhook.Clerk),
	"mailgun": {
		make: webhook.Mailgun,
		body: `{"signature":{"timestamp":"{now}","token":"{id}","signature":"{signature}"},"event-data":{"id":"{id}","event":"delivered","timestamp":{now}}}`,
	},
	"adyen": {
		make: webhook.Adyen, other: otherHex,
		body: `{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":"{signature}"},"amount":{"value":1,"currency":"EUR"},"pspReference":"{id}","eventCode":"AUTHORISATION","merchantAccountCode":"m","merchantReference":"r","success":"true"}}]}`,
	},
	"midtrans": {
		make: webhook.Midtrans,
		body: `{"transaction_id":"{id}","transaction_status":"settlement","status_code":"200","fraud_status":"accept","order_id":"o","gross_amount":"1.00","payment_type":"qris","signature_key":"{signature}"}`,
	},
	"adyen-platform": {make: webhook.AdyenPlatform, other: otherHex, body: `{"type":"balancePlatform.transfer.created","data":{"id":"{id}","status":"received","sequenceNumber":1}}`},
	"cloudevents": {
		make: func(secrets ...string) *webhook.Provider {
			return webhook.CloudEventsFrom(webhook.CloudEventsConfig{Tokens: secrets})
		},
		header: map[string]string{"Content-Type": "application/cloudevents+json"},
		body:   `{"specversion":"1.0","id":"{id}","source":"/provoke","type":"provoke.happened","data":{}}`,
	},
	"gitlab-signed": {
		make: webhook.GitLabSigned, other: otherWhsec, header: map[string]string{"webhook-id": "{id}", "Idempotency-Key": "{id}", "X-Gitlab-Event": "Push Hook"},
		body: `{"object_kind":"push","project_id":1}`,
	},
	"xendit": {make: webhook.Xendit, body: `{"event":"payment.capture","data":{"payment_id":"{id}","status":"SUCCEEDED"}}`},
}
