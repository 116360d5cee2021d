package survey

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// version of the file's format. Load refuses every other one.
const version = 1

// file is the format: a Snapshot with everything that decides where pods go.
type file struct {
	Lightsout int // version
	cluster.Contents
	// Specs are the specifications of the pods; null if one is unknown.
	Specs        []*corev1.PodSpec
	PlaceObjects []placeObject
}

// placeObject is a cluster.Object. A neighbour has a specification as well.
type placeObject struct {
	Kind  cluster.Kind
	Key   cluster.Key
	Value json.RawMessage
	Spec  *corev1.PodSpec `json:",omitempty"`
}

// specOf returns the specification of a pod; nil if it is unknown.
func specOf(p *cluster.Pod) *corev1.PodSpec {
	if p.Spec == (cluster.Spec{}) {
		return nil
	}
	return p.Spec.Decode()
}

// setSpec is the reverse of specOf.
func setSpec(p *cluster.Pod, spec *corev1.PodSpec) {
	if spec != nil {
		p.Spec = cluster.NewSpec(spec, "")
	}
}

// Save writes a Snapshot for Load. With redact it writes pseudonyms, which are
// consistent within one file but match no other file.
func Save(w io.Writer, s *cluster.Snapshot, redact bool) error {
	f := file{Lightsout: version, Contents: s.Contents()}
	f.Specs = text.Each(f.Pods, specOf)
	for _, o := range f.Objects {
		b, err := json.Marshal(o.Value)
		if err != nil {
			return fmt.Errorf("write the %s %s: %w", o.Kind, o.Key, err)
		}
		x := placeObject{Kind: o.Kind, Key: o.Key, Value: b}
		if p, ok := o.Value.(*cluster.Pod); ok {
			x.Spec = specOf(p)
		}
		f.PlaceObjects = append(f.PlaceObjects, x)
	}
	if !redact {
		return json.NewEncoder(w).Encode(f)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	r := redactor{salt: make([]byte, 16)}
	_, _ = rand.Read(r.salt) // it never fails
	return r.write(w, b)
}

// Load reads a file of Save.
func Load(r io.Reader) (*cluster.Snapshot, error) {
	var f file
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("this is not a file of lightsout snapshot: %w", err)
	}
	if f.Lightsout != version || len(f.Specs) != len(f.Pods) {
		return nil, errors.New("another version of lightsout snapshot, or another program, wrote this file; create a new one")
	}
	if slices.Contains(f.Nodes, nil) || slices.Contains(f.Deployments, nil) ||
		slices.Contains(f.Endpoints, nil) || slices.Contains(f.Pods, nil) {
		return nil, errors.New("the file has an empty object; create a new one")
	}
	for i, p := range f.Pods {
		setSpec(p, f.Specs[i])
	}
	for _, x := range f.PlaceObjects {
		empty := newObject[x.Kind]
		if empty == nil {
			continue // from a newer program
		}
		o := &cluster.Object{Kind: x.Kind, Key: x.Key, Value: empty()}
		if err := json.Unmarshal(x.Value, o.Value); err != nil {
			return nil, fmt.Errorf("read the %s %s: %w", x.Kind, x.Key, err)
		}
		if p, ok := o.Value.(*cluster.Pod); ok {
			setSpec(p, x.Spec)
		}
		f.Objects = append(f.Objects, o)
	}
	for _, n := range f.Nodes { // reading the rest took time: a node is silent compared with the others
		f.HeartbeatsUntil = slices.MaxFunc([]time.Time{f.HeartbeatsUntil, n.RenewSeen}, time.Time.Compare)
	}
	return cluster.NewSnapshot(f.Contents), nil
}

// newObject makes the empty object of a kind.
var newObject = map[cluster.Kind]func() any{
	cluster.KindVolume:       func() any { return &corev1.PersistentVolume{} },
	cluster.KindClaim:        func() any { return &corev1.PersistentVolumeClaim{} },
	cluster.KindStorageClass: func() any { return &storagev1.StorageClass{} },
	cluster.KindCSIDriver:    func() any { return &storagev1.CSIDriver{} },
	cluster.KindQuota:        func() any { return &corev1.ResourceQuota{} },
	cluster.KindStatefulSet:  func() any { return &cluster.Workload{} },
	cluster.KindJob:          func() any { return &batchv1.Job{} },
	cluster.KindBudget:       func() any { return &policyv1.PodDisruptionBudget{} },
	cluster.KindNamespace:    func() any { return &corev1.Namespace{} },
	cluster.KindNeighbour:    func() any { return &cluster.Pod{} },
}

// redactor replaces names and the values of labels by pseudonyms.
type redactor struct{ salt []byte }

// hidden lists fields that decide nothing and may contain secrets.
var hidden = map[string]bool{"uid": true, "ip": true, "addresses": true, "provider_id": true, "annotations": true, "message": true, "boot_id": true,
	"Context": true, "Server": true, "context": true, "server": true, "os_image": true, "err": true, "Err": true, "volumeHandle": true, "nodeID": true, "roles": true, "kubelet": true}

// named lists fields with a name, beside those that are called so.
var named = []string{"driver", "node", "deployment", "service", "revision"}

func (r *redactor) pseudonym(s string) string {
	if s == "" {
		return ""
	}
	sum := hmac.New(sha256.New, r.salt)
	sum.Write([]byte(s))
	return "x" + hex.EncodeToString(sum.Sum(nil))[:10]
}

func (r *redactor) write(w io.Writer, b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers as they are written
	var all any
	if err := d.Decode(&all); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(r.walk("", all))
}

// walk returns a field's value without hidden data.
func (r *redactor) walk(field string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, one := range x {
			switch {
			case hidden[k]:
				delete(x, k)
			case field == "matchLabels" || field == "labels" || field == "nodeSelector":
				x[k] = r.pseudonym(fmt.Sprint(one))
			default:
				x[k] = r.walk(k, one)
			}
		}
	case []any:
		for i, one := range x {
			x[i] = r.walk(field, one)
		}
	case string:
		return r.word(field, x)
	}
	return v
}

func (r *redactor) word(field, s string) string {
	switch {
	case field == "labels":
		pairs := strings.Split(s, ",")
		for i, pair := range pairs {
			if k, v, ok := strings.Cut(pair, "="); ok {
				pairs[i] = k + "=" + r.pseudonym(v)
			}
		}
		return strings.Join(pairs, ",")
	case field == "values":
		return r.pseudonym(s)
	case field == "zone":
		region, zone, _ := strings.Cut(s, "/")
		return r.pseudonym(region) + "/" + r.pseudonym(zone)
	case strings.Contains(strings.ToLower(field), "name"), slices.Contains(named, field):
		return r.pseudonym(s)
	}
	return s
}
