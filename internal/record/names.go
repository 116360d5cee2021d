package record

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

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
	nameIP        NameKind = "ip"
	nameMAC       NameKind = "mac"
)

// Names replaces names of hosts, users and namespaces, and addresses, by stand-ins: the same one for
// the same name everywhere, and of the same length if possible, so that columns stay aligned. It knows
// the names that were added, and recognizes addresses. It is safe for concurrent use; a nil Names
// replaces nothing.
type Names struct {
	// Key makes the stand-ins of names that are added from now on digests of them with it, and so the
	// same ones in each record with this key; empty: they are numbers. Only who knows the key can
	// verify a guess of a name. Nobody may add names while it is set.
	Key     string
	mu      sync.Mutex
	standIn map[string]string
	used    map[string]bool
	// lengths has those of the names that begin with two bytes, the longest first.
	lengths map[string][]int
	seen    atomic.Pointer[cluster.Snapshot]
}

// NewNames makes a Names that knows no name.
func NewNames() *Names {
	return &Names{standIn: map[string]string{}, used: map[string]bool{}, lengths: map[string][]int{}}
}

// numberMost is the length of the longest number that identifies nothing: a port, a year,
// a part of an address.
const numberMost = 6

// plain reports whether a name identifies nothing, or is an address, which Text recognizes.
func plain(name string) bool {
	return len(name) < 2 || isAddress(withoutPort(name)) ||
		!slices.ContainsFunc(wordsOf(name), func(w string) bool { return !ownWords[w] }) ||
		len(name) <= numberMost && !strings.ContainsFunc(name, unicode.IsLetter)
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

// Add adds names, whatever characters they contain. Addresses need not be added.
func (n *Names) Add(kind NameKind, names ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		n.add(kind, name)
		n.add(kind, power.Clean(name)) // the form that people see
	}
}

// partLeast is the length of the shortest part of a name that is replaced alone.
const partLeast = 3

// betweenParts matches what separates the parts of a context's name.
var betweenParts = regexp.MustCompile(`[^\pL\pN.-]+`)

// AddContexts adds the names of contexts, and of the folders that are named after them (see
// FolderName), and their parts: a context often has the names of a cluster, an account and a namespace.
func (n *Names) AddContexts(contexts ...string) {
	for _, c := range contexts {
		n.Add(NameHost, c, FolderName(c))
		for _, part := range betweenParts.Split(c, -1) {
			if part = strings.Trim(part, ".-"); len(part) >= partLeast {
				n.Add(NameHost, part)
			}
		}
	}
}

// add gives a name its stand-in. A host is also called by the first label of its name, unless that
// is too short: the stand-in of that begins the one of the whole.
func (n *Names) add(kind NameKind, name string) {
	if plain(name) || n.standIn[name] != "" {
		return
	}
	s := ""
	if first, domain, ok := strings.Cut(name, "."); ok && kind == NameHost && len(first) >= partLeast && !plain(first) {
		n.add(kind, first)
		s = n.standIn[first] + "." + strings.Repeat("x", len(domain))
	}
	if s == "" || n.used[s] || n.standIn[s] != "" {
		s = n.fresh(kind, name)
	}
	n.standIn[name], n.used[s] = s, true
	start := name[:2]
	if at, known := slices.BinarySearchFunc(n.lengths[start], len(name), func(a, b int) int { return b - a }); !known {
		n.lengths[start] = slices.Insert(n.lengths[start], at, len(name))
	}
}

// address returns the stand-in of an address. Text does not look for it as for a name: it may begin
// another address.
func (n *Names) address(kind NameKind, address string) string {
	if n.standIn[address] == "" {
		s := n.fresh(kind, address)
		n.standIn[address], n.used[s] = s, true
	}
	return n.standIn[address]
}

// fresh returns a stand-in of the name's length, if there is one, that nothing is called. One that begins
// with the word of its kind has 5 digits or more, so that few names begin with the same number.
func (n *Names) fresh(kind NameKind, name string) string {
	start := string(kind) + "-"
	if len(name) < len(start)+5 {
		start = start[:1]
	}
	room, i := max(2, len(name)-len(start)), uint32(len(n.standIn)+1)
	if n.Key != "" {
		sum := sha256.Sum256([]byte(n.Key + name))
		i = binary.BigEndian.Uint32(sum[:]) >> max(0, 32-4*room)
	}
	for ; ; i++ {
		if s := fmt.Sprintf("%s%0*x", start, room, i); s != name && !n.used[s] && n.standIn[s] == "" {
			return s
		}
	}
}

// Way adds the names in a route: "via user@host:port", or a part of that.
func (n *Names) Way(way string) {
	user, host, ok := strings.Cut(strings.TrimPrefix(way, "via "), "@")
	if !ok {
		user, host = "", user
	}
	n.Add(NameUser, user)
	n.Add(NameHost, withoutPort(host))
}

// addNote adds the names in a note about a machine that is off: the operator, the host, and the
// folders in the command that powers it on, which have the names of accounts and customers.
func (n *Names) addNote(note power.Note) {
	n.Way(note.By)
	for word := range strings.FieldsSeq(note.Back) {
		if word = strings.Trim(word, `"',`); strings.Contains(word, "/") {
			n.Add(NameHost, word)
		}
	}
}

// Learn adds the names in a frame: cluster, bastion, nodes, machines and their IDs,
// namespaces, operators who switched machines off, and the places in the palette. Only the
// journal may know a node that somebody has deleted.
func (n *Names) Learn(f *view.Frame) {
	if n == nil {
		return
	}
	n.AddContexts(f.Cluster)
	n.Way(f.Via)
	if f.Scopes != nil {
		n.AddContexts(f.Scopes.Contexts...)
		n.Add(NameNamespace, f.Scopes.Namespaces...)
	}
	n.Add(NameHost, f.LeavesAfter...)
	for _, o := range f.Outages {
		n.Add(NameHost, o.Node)
	}
	for _, node := range slices.Sorted(maps.Keys(f.Power)) { // so that records of one cluster agree
		n.Add(NameHost, node)
		for _, names := range f.Power[node].Names {
			n.Add(NameHost, names.Name, names.ID)
			n.Way(names.Address)
		}
	}
	s := f.Snapshot
	if s == nil || n.seen.Swap(s) == s {
		return
	}
	for _, node := range s.Nodes() {
		n.Add(NameHost, node.Name, node.ProviderID)
		for _, note := range power.NotesOn(node.Annotations) {
			n.addNote(note)
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
