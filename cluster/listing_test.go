package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// kindsAPI serves secrets, and a kind of a CustomResourceDefinition.
func kindsAPI(t *testing.T) *Client {
	return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const kind = `{"resource":%q,"singularResource":%q,"responseKind":{"kind":%q},"scope":%q,"verbs":["list"],"shortNames":[%q]}`
		const groups = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":%q},"versions":[{"version":"v1","resources":[%s]}]}]}`
		const secret = `{"metadata":{"name":"db","namespace":"shop","annotations":{"copy":"aHVudGVyMg=="}},"data":{"password":"aHVudGVyMg=="},"type":"Opaque"}`
		table := strings.Contains(r.Header.Get("Accept"), "as=Table")
		switch path := r.URL.Path; {
		case path == "/api":
			fmt.Fprintf(w, groups, "", fmt.Sprintf(kind, "secrets", "secret", "Secret", "Namespaced", "scr"))
		case path == "/apis":
			fmt.Fprintf(w, groups, "example.org", fmt.Sprintf(kind, "widgets", "widget", "Widget", "Cluster", "wg"))
		case path == "/api/v1/namespaces/shop/secrets" && table && r.URL.Query().Get("limit") == "500":
			fmt.Fprint(w, `{"kind":"Table","metadata":{"continue":"more"},"columnDefinitions":[{"name":"Name"},{"name":"Data"},{"name":"Wide","priority":1}],
 "rows":[{"cells":["db",2000000,"x"],"object":{"metadata":{"name":"db","namespace":"shop"}}}]}`)
		case path == "/api/v1/namespaces/shop/secrets":
			fmt.Fprintf(w, `{"items":[%s]}`, secret)
		case path == "/apis/example.org/v1/widgets":
			w.WriteHeader(403)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		default:
			fmt.Fprint(w, `{"items":[]}`)
		}
	}))
}

func TestAnyKindIsListed(t *testing.T) {
	c := kindsAPI(t)
	for _, word := range []string{"sec", "scr", "secret", "Secrets"} {
		l, err := c.List(t.Context(), word, []string{"shop"})
		if err != nil {
			t.Fatal(err)
		}
		if !l.Cut || strings.Join(l.Columns, " ") != "NAME DATA" || len(l.Rows) != 1 || strings.Join(l.Rows[0].Cells, " ") != "db 2000000" || l.Rows[0].Key != (Key{"shop", "db"}) {
			t.Errorf("%s: %+v", word, l)
		}
	}
	for word, want := range map[string]string{"wg": "widgets.example.org can't be listed: forbidden; the user needs list on widgets", "none": "kubectl api-resources"} {
		if _, err := c.List(t.Context(), word, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// Names and keys of a Secret are shown, its values nowhere.
func TestASecretIsDescribedWithoutItsValues(t *testing.T) {
	c := kindsAPI(t)
	l, err := c.List(t.Context(), "secrets", []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Describe(context.Background(), l.Rows[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(d.YAML, "\n"); strings.Contains(fmt.Sprintf("%+v", d), "aHVudGVyMg") || !strings.Contains(all, "  password: (not shown)") || !strings.Contains(all, "kind: Secret") {
		t.Errorf("the YAML is\n%s", all)
	}
}
