package record

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
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

// Names replaces names of hosts, users and namespaces, and addresses, by pseudonyms:
// the same one for the same name everywhere, and of the same length if possible, so
// that columns stay aligned. It knows the names that were added, and recognizes
// addresses. It is safe for concurrent use; a nil Names replaces nothing.
type Names struct {
	mu        sync.Mutex
	standIn   map[string]string
	addresses map[string]string // pseudonyms of addresses
	used      map[string]bool
	words     int // number of words in the longest name
	longest   int // length of the longest name
	// odd marks the bytes that begin or end a name but do not belong to a word.
	odd  [256]bool
	seen *cluster.Snapshot
}

// NewNames makes a Names that knows no name.
func NewNames() *Names {
	return &Names{standIn: map[string]string{}, addresses: map[string]string{}, used: map[string]bool{}}
}

// plainNames tell nothing, because every cluster or host has them.
var plainNames = map[string]bool{"": true, "default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true,
	"localhost": true, "root": true, "in-cluster": true,
	"admin": true, "kubernetes": true, "kubernetes-admin": true, "arn": true, "aws": true, "eks": true, "gke": true}

// numberMost is the length of the longest number that identifies nothing: a port, a year,
// a part of an address.
const numberMost = 6

// plain reports whether a name identifies nothing, or is an address, which Text recognizes.
func plain(name string) bool {
	if plainNames[name] || ownWords[name] || len(name) < 2 || isAddress(withoutPort(name)) {
		return true
	}
	return len(name) <= numberMost && !strings.ContainsFunc(name, unicode.IsLetter)
}

// isAddress reports whether s is an IP address, or a MAC address with colons.
func isAddress(s string) bool {
	_, notIP := netip.ParseAddr(s)
	_, notMAC := net.ParseMAC(s)
	return notIP == nil || notMAC == nil && strings.Contains(s, ":")
}

// withoutPort returns the host in host:port, and any other text unchanged.
func withoutPort(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// Add adds names. Addresses need not be added.
func (n *Names) Add(kind NameKind, names ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		if kind == NameHost {
			name = withoutPort(name)
		}
		n.add(kind, name)
	}
}

// AddMachine adds names of machines, whatever characters they contain.
func (n *Names) AddMachine(names ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		n.add(NameHost, name)
		n.add(NameHost, power.Clean(name)) // the form that people see
	}
}

// partLeast is the length of the shortest part of a context's name that is replaced alone.
const partLeast = 3

// betweenParts matches what separates the parts of a context's name.
var betweenParts = regexp.MustCompile(`[^\pL\pN.-]+`)

// AddContexts adds the names of contexts, and of the folders that are named after them (see
// FolderName).
func (n *Names) AddContexts(contexts ...string) {
	for _, c := range contexts {
		n.AddMachine(c, FolderName(c))
	}
}

// AddContext adds the name of the context in use, and its parts: it often consists of the names
// of a cluster, an account and a namespace.
func (n *Names) AddContext(context string) {
	n.AddContexts(context)
	for _, part := range betweenParts.Split(context, -1) {
		if part = strings.Trim(part, ".-"); len(part) < partLeast {
			continue
		}
		if first, _, _ := strings.Cut(part, "."); len(first) < partLeast {
			n.Add(NameUser, part) // as a whole: its first label is too short to be a name
			continue
		}
		n.AddMachine(part)
	}
}

// add gives a name its stand-in. A host is also called by the first part of its
// name: the stand-in of that begins the one of the whole.
func (n *Names) add(kind NameKind, name string) {
	if plain(name) || n.standIn[name] != "" {
		return
	}
	n.words, n.longest = max(n.words, countWords(name)), max(n.longest, len(name))
	if first, last := name[0], name[len(name)-1]; !wordByte(first) || !wordByte(last) {
		n.odd[first], n.odd[last] = true, true
	}
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

// Way adds the names in a route: "via user@host:port".
func (n *Names) Way(way string) {
	user, host, ok := strings.Cut(strings.TrimPrefix(way, "via "), "@")
	if !ok {
		user, host = "", user
	}
	n.Add(NameUser, user)
	n.Add(NameHost, host)
}

// AddNote adds the names in a note about a machine that is off: the operator, the host, and the
// folders in the command that powers it on.
func (n *Names) AddNote(note power.Note) {
	n.Way(note.By)
	n.paths(note.Back)
}

// Learn adds the names in a frame: cluster, bastion, nodes, machines and their IDs,
// namespaces, operators who switched machines off, and the places in the palette. Only the
// journal may know a node that somebody has deleted.
func (n *Names) Learn(f *view.Frame) {
	if n == nil {
		return
	}
	n.AddContext(f.Cluster)
	n.Way(f.Via)
	if f.Scopes != nil {
		n.AddContexts(f.Scopes.Contexts...)
		n.Add(NameNamespace, f.Scopes.Namespaces...)
	}
	n.Add(NameHost, f.LeavesAfter...)
	for _, o := range f.Outages {
		n.Add(NameHost, o.Node)
	}
	for node, m := range f.Power {
		n.Add(NameHost, node)
		for _, names := range m.Names {
			n.AddMachine(names.Name, names.ID)
			n.Add(NameHost, names.Address)
		}
	}
	s := f.Snapshot
	if s == nil {
		return
	}
	n.mu.Lock()
	same := n.seen == s
	n.seen = s
	n.mu.Unlock()
	if same {
		return
	}
	for _, node := range s.Nodes() {
		n.Add(NameHost, node.Name)
		n.AddMachine(node.ProviderID)
		for _, note := range power.NotesOn(node.Annotations) {
			n.AddNote(note)
		}
	}
	for _, d := range s.Deployments() {
		n.Add(NameNamespace, d.Namespace)
	}
	for pods := s.Pods(); len(pods) > 0; { // sorted by namespace, and there may be many
		ns := pods[0].Namespace
		n.Add(NameNamespace, ns)
		pods = pods[sort.Search(len(pods), func(i int) bool { return pods[i].Namespace > ns }):]
	}
}

// paths adds the paths in a command: folders have the names of accounts and customers.
func (n *Names) paths(command string) {
	for word := range strings.FieldsSeq(command) {
		if word = strings.Trim(word, `"',`); strings.Contains(word, "/") {
			n.AddMachine(word)
		}
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

// addresses matches every text that may be an address, or contain one between colons.
var addresses = regexp.MustCompile(`(?:[0-9A-Fa-f]*:)*\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,7}`)

func (n *Names) text(text string) string {
	var out strings.Builder
	last := 0
	for i := 0; i < len(text); i++ {
		if !n.begin(text, i) {
			continue
		}
		end, standIn := n.at(text, i)
		if end == i {
			continue
		}
		// A name that begins within this one and ends after it is replaced with it.
		for k := i + 1; k < end; k++ {
			if !n.begin(text, k) {
				continue
			}
			if further, also := n.at(text, k); further > end {
				end, standIn = further, standIn+"-"+also
			}
		}
		out.WriteString(text[last:i])
		out.WriteString(standIn)
		i, last = end-1, end
	}
	return addresses.ReplaceAllStringFunc(out.String()+text[last:], n.ofAddress)
}

// begin reports whether a name may begin at i.
func (n *Names) begin(text string, i int) bool {
	if !wordByte(text[i]) {
		return n.odd[text[i]]
	}
	return i == 0 || !wordByte(text[i-1])
}

// at finds the longest name that begins at i and ends where a word does. Parts
// that are joined by hyphens and dots are words.
func (n *Names) at(text string, i int) (end int, standIn string) {
	end = i
	for j, words := i, 0; j < len(text) && j-i < n.longest && words <= n.words; j++ {
		word := wordByte(text[j])
		switch ends := j+1 == len(text) || !wordByte(text[j+1]); {
		case word && !ends:
			continue
		case word:
			words++
		case !n.odd[text[j]]:
			continue
		}
		if s, ok := n.standIn[text[i:j+1]]; ok {
			end, standIn = j+1, s
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

// ofAddress replaces the address in a text that addresses matches: the longest part between
// colons that is one.
func (n *Names) ofAddress(s string) string {
	parts := strings.Split(s, ":")
	for size := len(parts); size > 0; size-- {
		for from := range len(parts) - size + 1 {
			address := strings.Join(parts[from:from+size], ":")
			if !isAddress(address) {
				continue
			}
			return strings.Join(slices.Concat(parts[:from], []string{n.address(address)}, parts[from+size:]), ":")
		}
	}
	return s
}

// address returns the pseudonym of an address. Those that every host has stay.
func (n *Names) address(s string) string {
	if known := n.addresses[s]; known != "" {
		return known
	}
	ip, err := netip.ParseAddr(s)
	mac := err != nil
	if !mac && (ip.IsLoopback() || ip.IsUnspecified()) {
		return s
	}
	for i := len(n.addresses); ; i++ {
		standIn := fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff)
		switch {
		case mac:
			standIn = fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8&255, i&255)
		case ip.Is4():
			standIn = likeIPv4(s, i)
		}
		if !n.used[standIn] && standIn != s {
			n.addresses[s], n.used[standIn] = standIn, true
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
