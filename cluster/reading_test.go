package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// The fake server's resource of each kind.
var readKinds = map[string]Kind{
	"nodes": KindNode, "pods": KindPod, "deployments": KindDeployment,
	"endpointslices": KindEndpointSlice, "leases": KindLease,
}

// A kind is unread until its whole list has arrived, whether the server answers late,
// stops in the middle, or breaks the connection there. It never looks empty.
func TestAKindIsUnreadUntilItsWholeListHasArrived(t *testing.T) {
	t.Parallel()
	for resource, kind := range readKinds {
		for _, how := range []string{"late", "slow", "broken"} {
			t.Run(resource+" "+how, func(t *testing.T) {
				t.Parallel()
				f := newFakeAPI(t)
				fill16(f)
				second, more := apiDeployment(8), apiSlice(16) // a list of one object has one page
				second.Name, more.Name = "second", "web-2"
				f.put("deployments", second)
				f.put("endpointslices", more)
				switch how {
				case "late":
					f.held[resource] = "first"
				case "slow":
					f.held[resource] = "second"
				case "broken":
					f.cutAt[resource] = "second"
				}
				w := watchFake(t, f)
				s := w.until("the list stops", func(s *Snapshot) bool {
					a, watched := s.Access[kind]
					switch how {
					case "late":
						return watched && s.Link.State == LinkLive
					case "broken":
						return a.Err != ""
					}
					return a.Read > 0
				})
				if a := s.Access[kind]; a.Synced || !s.Unread(kind) {
					t.Errorf("%s: %+v", kind, a)
				}
				f.change(func() { clear(f.held); clear(f.cutAt) })
				s = w.until("everything", synced)
				if a := s.Access[kind]; a.Read != 0 || s.Unread(kind) {
					t.Errorf("%s: %+v after the whole list", kind, a)
				}
			})
		}
	}
}

// heavyPod is a pod that mostly consists of fields that lightsout does not use.
func heavyPod() corev1.Pod {
	started := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "u", Labels: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 3000))}}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
			Name: queueProxy, Image: "image", Command: []string{"run"}, Env: []corev1.EnvVar{{Name: "CONTAINER_CONCURRENCY", Value: "2"}},
			Ports: []corev1.ContainerPort{{ContainerPort: 80}}, VolumeMounts: []corev1.VolumeMount{{Name: "v"}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 10}, SecurityContext: &corev1.SecurityContext{},
		}}, Volumes: []corev1.Volume{
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"}}},
		}, SecurityContext: &corev1.PodSecurityContext{}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, HostIPs: []corev1.HostIP{{IP: "10.0.0.2"}}, ContainerStatuses: []corev1.ContainerStatus{{
			Name: queueProxy, Ready: true, Started: &started, RestartCount: 7, Image: "image", ImageID: "id", ContainerID: "c",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
}

func jsonOf(all ...any) string {
	b, err := json.Marshal(all)
	return fmt.Sprint(string(b), err)
}

// Stripping a list removes the fields that lightsout would drop anyway, and no others.
func TestStrippingAListRemovesOnlyUnusedFields(t *testing.T) {
	t.Parallel()
	codec := protobuf.NewSerializer(scheme, scheme)
	node := corev1.Node{ObjectMeta: heavyPod().ObjectMeta, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"a"}}},
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}}
	three := int32(3)
	want := heavyPod()
	want.ManagedFields, want.Status.ContainerStatuses[0].Image, want.Status.ContainerStatuses[0].ImageID, want.Status.ContainerStatuses[0].ContainerID = nil, "", "", ""
	c := &want.Spec.Containers[0]
	c.Image, c.VolumeMounts, c.ReadinessProbe, c.SecurityContext = "", nil, nil, nil
	want.Spec.Volumes[0].Projected, want.Spec.Volumes[1].Secret = nil, nil
	want.Spec.SecurityContext, want.Spec.ImagePullSecrets, want.Status.PodIPs, want.Status.HostIPs = nil, nil, nil, nil
	full := heavyPod()
	if got, want := trimPod(&want), trimPod(&full); !reflect.DeepEqual(got, want) {
		t.Errorf("lightsout reads %+v of a stripped pod, %+v of a whole one", got, want)
	}
	for _, list := range []struct {
		full runtime.Object
		want func(runtime.Object) (string, string)
	}{
		{&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next"}, Items: []corev1.Pod{heavyPod(), heavyPod()}},
			func(o runtime.Object) (string, string) {
				l := o.(*corev1.PodList)
				return jsonOf(l.ListMeta, l.Items), jsonOf(metav1.ListMeta{ResourceVersion: "7", Continue: "next"}, []corev1.Pod{want, want})
			}},
		{&corev1.NodeList{Items: []corev1.Node{node}}, func(o runtime.Object) (string, string) {
			n := o.(*corev1.NodeList).Items[0]
			return fmt.Sprint(n.Status.Images, n.ManagedFields, n.Status.Addresses, n.Name), fmt.Sprint([]corev1.ContainerImage(nil), []metav1.ManagedFieldsEntry(nil), node.Status.Addresses, "web-1")
		}},
		{&appsv1.StatefulSetList{Items: []appsv1.StatefulSet{{ObjectMeta: heavyPod().ObjectMeta, Status: appsv1.StatefulSetStatus{ReadyReplicas: 3}, Spec: appsv1.StatefulSetSpec{
			Replicas: &three, Template: corev1.PodTemplateSpec{Spec: heavyPod().Spec}, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}}, ServiceName: "web"}}}}, func(o runtime.Object) (string, string) {
			r := o.(*appsv1.StatefulSetList).Items[0]
			return fmt.Sprint(r.Spec.Template.Spec.Containers, len(r.Spec.VolumeClaimTemplates), *r.Spec.Replicas, r.Spec.ServiceName, r.Status.ReadyReplicas, r.Name), "[] 0 3web3web-1"
		}},
		{&appsv1.DaemonSetList{Items: []appsv1.DaemonSet{{ObjectMeta: heavyPod().ObjectMeta, Status: appsv1.DaemonSetStatus{NumberReady: 3}, Spec: appsv1.DaemonSetSpec{
			Template: corev1.PodTemplateSpec{Spec: heavyPod().Spec}, MinReadySeconds: 3}}}}, func(o runtime.Object) (string, string) {
			r := o.(*appsv1.DaemonSetList).Items[0]
			return fmt.Sprint(r.Spec.Template.Spec.Containers, r.Spec.MinReadySeconds, r.Status.NumberReady, r.Name), "[] 3 3web-1"
		}},
	} {
		kinds, _, err := scheme.ObjectKinds(list.full)
		if err != nil {
			t.Fatal(err)
		}
		list.full.GetObjectKind().SetGroupVersionKind(kinds[0])
		var b bytes.Buffer
		if err := codec.Encode(list.full, &b); err != nil {
			t.Fatal(err)
		}
		short := strippedList(nil, b.Bytes())
		if len(short) >= b.Len() {
			t.Errorf("%s has %d bytes of %d", kinds[0].Kind, len(short), b.Len())
		}
		var p pages
		got, err := p.decode(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		// The next page goes into the same memory.
		clear(b.Bytes())
		clear(p.short)
		if got, want := list.want(got); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", kinds[0].Kind, got, want)
		}
	}
}

func FuzzStrippedListKeepsWhatItCannotRead(f *testing.F) {
	codec := protobuf.NewSerializer(scheme, scheme)
	var b bytes.Buffer
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{heavyPod()}}
	if err := codec.Encode(list, &b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		_ = continueToken(data)
		_, _, plain := codec.Decode(data, nil, nil)
		_, _, err := codec.Decode(strippedList(nil, data), nil, nil)
		if plain == nil && err != nil {
			t.Errorf("the list can no longer be decoded: %v", err)
		}
		if !bytes.Equal(before, data) {
			t.Error("strip changed the server's bytes")
		}
	})
}
