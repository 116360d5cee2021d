package text

import "testing"

func TestVisibleKeepsNamesApart(t *testing.T) {
	for in, want := range map[string]string{
		"kube-node1": "kube-node1", "n\x1b[31m1": `n\x1b[31m1`, "n\u200b1": `n\u200b1`, "n\u202e1": `n\u202e1`, "n\u31641": `n\u31641`, "n\t1": `n\t1`, "計算\n": "計算\n",
	} {
		got := Visible(in)
		if got != want || Visible(got) != got {
			t.Errorf("Visible(%q) = %q, and of that %q; want %q", in, got, Visible(got), want)
		}
	}
}
