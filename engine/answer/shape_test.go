package answer

import "testing"

// TestShape compares messages of the same failure, and messages that a reader has to tell apart.
func TestShape(t *testing.T) {
	for _, same := range [][2]string{
		{"read tcp 10.0.0.1:40512->10.0.0.2:443: read: connection reset by peer", "read tcp 10.0.0.1:51200->10.0.0.3:443: read: connection reset by peer"},
		{"dial tcp [::1]:6443: connect: connection refused", "dial tcp [fd00::17%eth0]:6443: connect: connection refused"},
		{`Post "https://gateway.example:31234/api": EOF`, `Post "https://gateway.example:31237/api": EOF`},
		{"bad gateway, request id: req-7f", "bad gateway, request id: req-8a1"},
		{"bad gateway (request_id=17)", "bad gateway (request_id=18)"},
		{`{"requestId": "17", "error": "x"}`, `{"requestId": "18", "error": "x"}`},
		{`{"x-request-id":"a17"}`, `{"x-request-id":"b2"}`},
		{"failed, trace 4bf92f3577b34da6a3ce929d0e0e4736", "failed, trace 00f067aa0ba902b7a3ce929d0e0e4736"},
		{"traceparent: 00-4bf92f3577b34da6-00f067aa0ba902b7-01", "traceparent: 00-aaaaaaaa77b34da6-00f067aa0ba902b7-01"},
		{"object 6fa1e0c3-6b5c-4f5c-9d1c-0123456789ab is locked", "object 11111111-6b5c-4f5c-9d1c-0123456789ab is locked"},
		{"no answer after 10.002s", "no answer after 1m9.8s"},
		{"retry after 5 seconds", "retry after 17 seconds"},
		{"attempt 3 failed", "attempt 17 failed"},
		{"expired at 2026-11-30T04:39:25Z", "expired at 2026-11-30T04:40:25.123Z"},
		{"Mon 04:39:25 GMT", "Mon 04:39:26 GMT"},
		{"too old resource version: 1234 (9999)", "too old resource version: 1239 (9999)"},
		{"resourceVersion 17 is gone", "resourceVersion 9 is gone"},
		{"lease 1732941565.123 ended", "lease 1732941599.5 ended"},
		{"job 01J9ZK6M5Q8X7V2N4B3C1D0E9F failed", "job 01J9ZK6M5Q8X7V2N4B3C1D0E9G failed"},
	} {
		if a, b := Shape(same[0]), Shape(same[1]); a != b {
			t.Errorf("%q and %q differ", a, b)
		}
	}
	for _, other := range [][2]string{
		{"the server answered 502", "the server answered 503"},
		{"exceeded quota: pods, used: pods=10, limited: pods=12", "exceeded quota: pods, used: pods=11, limited: pods=12"},
		{"2 of 3 ready", "1 of 3 ready"},
		{`child "web"[2]: invalid`, `child "web"[3]: invalid`},
		{"Deployment/default/web-1 is invalid", "Deployment/default/web-2 is invalid"},
		{"dial tcp: lookup a.example: no such host", "dial tcp: lookup b.example: no such host"},
		{"spec.ports[0].port: Invalid value: 70000", "spec.ports[0].port: Invalid value: 80000"},
		{`denied: "invalid" id`, `denied: "valid" id`},
	} {
		if Shape(other[0]) == Shape(other[1]) {
			t.Errorf("%q and %q have the same shape", other[0], other[1])
		}
	}
}

// TestShapeIsStable takes the shape of a shape.
func TestShapeIsStable(t *testing.T) {
	for _, message := range []string{"", "all is well", "request id: req-7f at 10.0.0.1:40512 after 3s"} {
		if once := Shape(message); Shape(once) != once {
			t.Errorf("the shape of %q is %q, whose shape is %q", message, once, Shape(once))
		}
	}
}
