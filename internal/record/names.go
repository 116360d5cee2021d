package record

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// NameKind is what a name names.
type NameKind string

// What names name; stand-ins begin with these words.
const (
	NameHost      NameKind = "host" // a machine, a node, a cluster
	NameUser      NameKind = "user"
	NameNamespace NameKind = "ns"
)

// Names replaces names of hosts, users and namespaces, and addresses, by
// stand-ins: the same for the same name everywhere, and as long as it wherever
// that is possible, so that what stands in columns stays there. It knows the
// names that it was told; addresses it recognizes. Safe for use by several
// goroutines; a nil Names replaces nothing.
type Names struct {
	mu       sync.Mutex
	standIn  map[string]string
	address  map[string]string // the stand-ins of addresses
	used     map[string]bool
	words    int // of the name that has the most
	seen     *cluster.Snapshot
	podsSeen time.Time
}

// podsEach is how often a snapshot's pods are looked through: there may be many.
const podsEach = time.Second

// NewNames makes a Names that knows no name.
func NewNames() *Names {
	return &Names{standIn: map[string]string{}, address: map[string]string{}, used: map[string]bool{}}
}

// plainNames tell nothing, because every cluster or host has them.
var plainNames = map[string]bool{"": true, "default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true,
	"localhost": true, "root": true, "in-cluster": true}

// plain reports a name that tells nothing, or that is none: numbers and single
// letters, among them parts of addresses.
func plain(name string) bool {
	return plainNames[name] || ownWords[name] || len(name) < 2 || !strings.ContainsFunc(name, unicode.IsLetter)
}

// Add tells names. Addresses need not be told.
func (n *Names) Add(kind NameKind, names ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		if kind == NameHost {
			name, _, _ = strings.Cut(name, ":") // its port, or what is an address
		}
		n.add(kind, name)
	}
}

// add gives a name its stand-in. A host is also called by the first part of its
// name: the stand-in of that begins the one of the whole.
func (n *Names) add(kind NameKind, name string) {
	if plain(name) || n.standIn[name] != "" {
		return
	}
	n.words = max(n.words, countWords(name))
	s := ""
	if first, domain, ok := strings.Cut(name, "."); ok && kind == NameHost && !plain(first) {
		n.add(kind, first)
		s = n.standIn[first] + "." + strings.Repeat("x", len(domain))
	}
	for i := len(n.standIn) + 1; s == "" || n.used[s] || n.standIn[s] != ""; i++ {
		if s = fmt.Sprintf("%s-%0*d", kind, max(0, len(name)-len(kind)-1), i); len(s) > len(name) {
			s = fmt.Sprintf("%c%0*d", kind[0], max(0, len(name)-1), i)
		}
	}
	n.standIn[name], n.used[s] = s, true
}

// Way tells the names in a way to somewhere: "via user@host:port".
func (n *Names) Way(way string) {
	user, host, ok := strings.Cut(strings.TrimPrefix(way, "via "), "@")
	if !ok {
		user, host = "", user
	}
	host, _, _ = strings.Cut(host, ":")
	n.Add(NameUser, user)
	n.Add(NameHost, host)
}

// Learn tells the names that a frame has: cluster, bastion, nodes, machines and
// their ids, namespaces, who has switched machines off, and what the palette
// offers to go to.
func (n *Names) Learn(f *view.Frame) {
	if n == nil {
		return
	}
	n.Add(NameHost, f.Cluster)
	n.Way(f.Via)
	if f.Places != nil {
		n.Add(NameHost, f.Places.Contexts...)
		n.Add(NameNamespace, f.Places.Namespaces...)
	}
	for _, m := range f.Power {
		for part := range strings.SplitSeq(m.Machine, " · ") { // "off: ssh 10.0.0.13:22 · on: mdx its-name, service level spot"
			words := strings.Fields(part)
			if len(words) > 2 {
				n.Add(NameHost, strings.Trim(words[2], ","))
			}
			if len(words) > 3 && strings.HasPrefix(words[3], "(") { // "on: mdx its-name (its-id), spot"
				n.Add(NameHost, strings.Trim(words[3], "(),"))
			}
		}
	}
	s := f.Snapshot
	if s == nil {
		return
	}
	n.mu.Lock()
	same, pods := n.seen == s, s.At.Sub(n.podsSeen).Abs() >= podsEach
	n.seen = s
	if pods {
		n.podsSeen = s.At
	}
	n.mu.Unlock()
	if same {
		return
	}
	for _, node := range s.Nodes() {
		n.Add(NameHost, node.Name)
		for _, note := range power.MarksOn(node.Annotations) {
			n.Way(note.By)
		}
	}
	for _, d := range s.Deployments() {
		n.Add(NameNamespace, d.Namespace)
	}
	if !pods {
		return
	}
	for _, p := range s.Pods() {
		n.Add(NameNamespace, p.Namespace)
	}
}

// Text replaces the names in a text.
func (n *Names) Text(text string) string {
	if n == nil || text == "" {
		return text
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text(text)
}

// addresses finds what may be an address.
var addresses = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,7}`)

func (n *Names) text(text string) string {
	var out strings.Builder
	last := 0
	for i := 0; i < len(text); i++ {
		if !wordByte(text[i]) || i > 0 && wordByte(text[i-1]) {
			continue
		}
		end, standIn := n.at(text, i)
		if end == i {
			continue
		}
		out.WriteString(text[last:i])
		out.WriteString(standIn)
		i, last = end-1, end
	}
	return addresses.ReplaceAllStringFunc(out.String()+text[last:], n.ofAddress)
}

// at finds the longest name that begins at i and ends where a word does. Parts
// that are joined by hyphens and dots are words.
func (n *Names) at(text string, i int) (end int, standIn string) {
	end = i
	for j, words := i, 0; j < len(text) && words < n.words; j++ {
		if wordByte(text[j]) && (j+1 == len(text) || !wordByte(text[j+1])) {
			words++
			if s, ok := n.standIn[text[i:j+1]]; ok {
				end, standIn = j+1, s
			}
		}
	}
	return end, standIn
}

// countWords gives the number of words in a name.
func countWords(name string) int {
	return len(strings.FieldsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !wordByte(byte(r)) }))
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// ofAddress gives the stand-in of an address, and anything else as it is.
func (n *Names) ofAddress(s string) string {
	if known := n.address[s]; known != "" {
		return known
	}
	ip, err := netip.ParseAddr(s)
	mac := false
	if err != nil {
		_, e := net.ParseMAC(s)
		mac = e == nil
	}
	if !mac && (err != nil || ip.IsLoopback() || ip.IsUnspecified()) {
		return s
	}
	for i := len(n.address); ; i++ {
		standIn := fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff)
		switch {
		case mac:
			standIn = fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8&255, i&255)
		case ip.Is4():
			standIn = likeIPv4(s, i)
		}
		if !n.used[standIn] && standIn != s {
			n.address[s], n.used[standIn] = standIn, true
			return standIn
		}
	}
}

// likeIPv4 is the i-th address whose numbers have as many digits as those of s;
// when there are no more of them, one with other numbers.
func likeIPv4(s string, i int) string {
	octets, all := strings.Split(s, "."), i
	first := [...]string{"9", "11", "198"}[len(octets[0])-1]
	out := []string{first}
	for _, o := range octets[1:] {
		from, n := [...]int{0, 10, 100}[len(o)-1], [...]int{10, 90, 156}[len(o)-1]
		out = append(out, fmt.Sprint(from+i%n))
		i /= n
	}
	if i > 0 {
		return fmt.Sprintf("11.%d.%d.%d", all>>16&255, all>>8&255, all&255)
	}
	return strings.Join(out, ".")
}
