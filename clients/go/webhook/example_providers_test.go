package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// A handler for each provider, to be copied. client is made by [idemsvc.Dial].
var client *idemsvc.Client

// handle says which event it is to do the work of.
func handle(what string) webhook.HandlerFunc {
	return func(_ context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
		if item.Type == what {
			fmt.Println("working on", item.ID, "with fence", claim.GetFence())
		}
		return nil
	}
}

func ExampleStripe() {
	provider := webhook.Stripe(os.Getenv("STRIPE_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("invoice.paid"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/stripe", receiver)
}

func ExampleGitHub() {
	provider := webhook.GitHub(os.Getenv("GITHUB_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("issues.opened"), webhook.Spool("/var/lib/shop/spool/github"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/github", receiver)
}

func ExampleShopify() {
	provider := webhook.Shopify(os.Getenv("SHOPIFY_CLIENT_SECRET"))
	receiver, err := webhook.New(client, provider, handle("orders/paid"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/shopify", receiver)
}

func ExampleTwilio() {
	provider := webhook.Twilio("https://shop.example/hooks/twilio", os.Getenv("TWILIO_AUTH_TOKEN"))
	receiver, err := webhook.New(client, provider, handle("message.delivered"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/twilio", receiver)
}

func ExampleHubSpot() {
	provider := webhook.HubSpot("https://shop.example/hooks/hubspot", os.Getenv("HUBSPOT_CLIENT_SECRET"))
	receiver, err := webhook.New(client, provider, handle("contact.creation"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/hubspot", receiver)
}

func ExampleSlack() {
	provider := webhook.Slack(os.Getenv("SLACK_SIGNING_SECRET"))
	receiver, err := webhook.New(client, provider, handle("app_mention"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/slack", receiver)
}

func ExamplePayPal() {
	provider := webhook.PayPal(webhook.PayPalConfig{WebhookIDs: []string{os.Getenv("PAYPAL_WEBHOOK_ID")}})
	receiver, err := webhook.New(client, provider, handle("PAYMENT.CAPTURE.COMPLETED"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/paypal", receiver)
}

func ExampleSquare() {
	provider := webhook.Square("https://shop.example/hooks/square", os.Getenv("SQUARE_SIGNATURE_KEY"))
	receiver, err := webhook.New(client, provider, handle("payment.updated"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/square", receiver)
}

func ExampleAdyen() {
	provider := webhook.Adyen(os.Getenv("ADYEN_HMAC_KEY"))
	receiver, err := webhook.New(client, provider, handle("AUTHORISATION"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/adyen", receiver)
}

func ExampleAdyenPlatform() {
	provider := webhook.AdyenPlatform(os.Getenv("ADYEN_HMAC_KEY"))
	receiver, err := webhook.New(client, provider, handle("balancePlatform.transfer.updated"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/adyen-platform", receiver)
}

func ExampleGitLab() {
	provider := webhook.GitLab(os.Getenv("GITLAB_WEBHOOK_TOKEN"))
	receiver, err := webhook.New(client, provider, handle("merge_request.open"), webhook.Spool("/var/lib/shop/spool/gitlab"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/gitlab", receiver)
}

func ExampleBitbucket() {
	provider := webhook.Bitbucket(os.Getenv("BITBUCKET_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("pullrequest:created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/bitbucket", receiver)
}

func ExampleZendesk() {
	provider := webhook.Zendesk(os.Getenv("ZENDESK_SIGNING_SECRET"))
	receiver, err := webhook.New(client, provider, handle("zen:event-type:ticket.created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/zendesk", receiver)
}

func ExampleIntercom() {
	provider := webhook.Intercom(os.Getenv("INTERCOM_CLIENT_SECRET"))
	receiver, err := webhook.New(client, provider, handle("contact.created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/intercom", receiver)
}

func ExampleSendGrid() {
	provider := webhook.SendGrid(os.Getenv("SENDGRID_PUBLIC_KEY"))
	receiver, err := webhook.New(client, provider, handle("bounce"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/sendgrid", receiver)
}

func ExampleMailgun() {
	provider := webhook.Mailgun(os.Getenv("MAILGUN_SIGNING_KEY"))
	receiver, err := webhook.New(client, provider, handle("failed"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/mailgun", receiver)
}

func ExampleStandardWebhooks() {
	provider := webhook.StandardWebhooks(os.Getenv("WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("user.created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/standard-webhooks", receiver)
}

func ExampleSvix() {
	provider := webhook.Svix(os.Getenv("SVIX_SECRET")).As("my-vendor")
	receiver, err := webhook.New(client, provider, handle("user.created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/svix", receiver)
}

func ExampleResend() {
	provider := webhook.Resend(os.Getenv("RESEND_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("email.bounced"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/resend", receiver)
}

func ExampleClerk() {
	provider := webhook.Clerk(os.Getenv("CLERK_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("user.created"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/clerk", receiver)
}

func ExamplePaddle() {
	provider := webhook.Paddle(os.Getenv("PADDLE_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("transaction.paid"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/paddle", receiver)
}

func ExampleMeta() {
	provider := webhook.Meta(os.Getenv("META_VERIFY_TOKEN"), os.Getenv("META_APP_SECRET"))
	receiver, err := webhook.New(client, provider, handle("messages"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/meta", receiver)
}

func ExampleLinear() {
	provider := webhook.Linear(os.Getenv("LINEAR_WEBHOOK_SECRET"))
	receiver, err := webhook.New(client, provider, handle("Issue.create"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/linear", receiver)
}

func ExampleTypeform() {
	provider := webhook.Typeform(os.Getenv("TYPEFORM_SECRET"))
	receiver, err := webhook.New(client, provider, handle("form_response"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/typeform", receiver)
}

func ExamplePubSub() {
	provider := webhook.PubSub(webhook.PubSubConfig{Audience: "https://shop.example/hooks/pubsub", Email: "push@my-project.iam.gserviceaccount.com"})
	receiver, err := webhook.New(client, provider, handle("order.made"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/pubsub", receiver)
}

func ExampleCloudEvents() {
	provider := webhook.CloudEvents()
	receiver, err := webhook.New(client, provider, handle("com.example.order"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/cloudevents", receiver)
}

func ExampleMidtrans() {
	provider := webhook.Midtrans(os.Getenv("MIDTRANS_SERVER_KEY"))
	receiver, err := webhook.New(client, provider, handle("bank_transfer.settlement"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/midtrans", receiver)
}

func ExampleXendit() {
	provider := webhook.Xendit(os.Getenv("XENDIT_CALLBACK_TOKEN"))
	receiver, err := webhook.New(client, provider, handle("payment.capture"))
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/xendit", receiver)
}

// A sender of one's own, described by headers and paths.
func ExampleGeneric() {
	provider := webhook.Generic(webhook.GenericConfig{
		Name: "warehouse", Key: []string{"header:X-Event-Id"}, Type: []string{"kind"},
		ResourceType: "=parcel", ResourceID: []string{"parcel.id"}, Order: "parcel.revision", OrderUnit: "sequence",
		Secrets: []string{os.Getenv("WAREHOUSE_SECRET")}, SignatureHeader: "X-Signature", SignaturePrefix: "sha256=",
		Signed: "{timestamp}.{body}", TimestampHeader: "X-Timestamp",
	})
	receiver, err := webhook.New(client, provider, handle("parcel.sent"), webhook.WithOrdering())
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks/warehouse", receiver)
}
