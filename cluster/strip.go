package cluster

import (
	"bytes"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// omitted lists, by number, the fields of a protobuf message that a list leaves out. A
// nil value leaves out the whole field; another one leaves out fields within it.
type omitted map[protowire.Number]omitted

// The numbers are those of k8s.io/api's and k8s.io/apimachinery's generated.proto. A
// real pod has some 6 KB, most of it managedFields; lightsout does not decode the
// fields that it would drop anyway.
var (
	strippedMeta      = omitted{17: nil} // managedFields
	strippedContainer = omitted{
		2: nil, 5: nil, 9: nil, // image, workingDir, volumeMounts
		10: nil, 11: nil, 12: nil, 22: nil, // livenessProbe, readinessProbe, lifecycle, startupProbe
		13: nil, 14: nil, 15: nil, 20: nil, // terminationMessagePath, imagePullPolicy, securityContext, terminationMessagePolicy
	}
	strippedContainerStatus = omitted{6: nil, 7: nil, 8: nil, 11: nil, 12: nil, 13: nil} // image, imageID, containerID, resources, volumeMounts, user
	stripped                = map[string]omitted{
		"Pod": {
			1: strippedMeta,
			2: {
				1: {2: {6: nil, 16: nil, 19: nil, 26: nil}},          // volumes: secret, downwardAPI, configMap, projected
				2: strippedContainer, 20: strippedContainer, 34: nil, // containers, initContainers, ephemeralContainers
				14: nil, 15: nil, // securityContext, imagePullSecrets
			},
			3: {
				8: strippedContainerStatus, 10: strippedContainerStatus, 13: nil, // containerStatuses, initContainerStatuses, ephemeralContainerStatuses
				12: nil, 16: nil, // podIPs, hostIPs
			},
		},
		"Node":          {1: strippedMeta, 3: {8: nil, 9: nil, 10: nil}}, // status: images, volumesInUse, volumesAttached
		"Deployment":    {1: strippedMeta},
		"Lease":         {1: strippedMeta},
		"EndpointSlice": {1: strippedMeta},
		"Event":         {1: strippedMeta},
		"Job":           {1: strippedMeta, 2: {6: nil}},         // spec: template
		"StatefulSet":   {1: strippedMeta, 2: {3: nil, 4: nil}}, // spec: template, volumeClaimTemplates
		"DaemonSet":     {1: strippedMeta, 2: {2: nil}},         // spec: template
	}
)

// strip appends a protobuf message without the omitted fields to dst; false if src is
// not a message.
func (f omitted) strip(dst, src []byte) ([]byte, bool) {
	for len(src) > 0 {
		number, kind, size := protowire.ConsumeField(src)
		if size < 0 {
			return dst, false
		}
		inner, found := f[number]
		switch {
		case !found || kind != protowire.BytesType:
			dst = append(dst, src[:size]...)
		case inner != nil:
			_, _, tag := protowire.ConsumeTag(src)
			body, _ := protowire.ConsumeBytes(src[tag:])
			dst = append(dst, src[:tag]...)
			start := len(dst)
			var ok bool
			if dst, ok = inner.strip(append(dst, 0, 0, 0, 0), body); !ok {
				return dst, false
			}
			putLength(dst[start:start+lengthSize], len(dst)-start-lengthSize)
		}
		src = src[size:]
	}
	return dst, true
}

// lengthSize is the number of bytes that strip reserves for a length that it does not
// know yet: a varint may have leading zeros.
const lengthSize = 4

func putLength(b []byte, n int) {
	for i := range b {
		b[i] = byte(n>>(7*i))&0x7f | 0x80
	}
	b[len(b)-1] &= 0x7f
}

// envelope begins each object in Kubernetes' protobuf encoding; a runtime.Unknown with
// the type (1) and the object (2) follows.
var envelope = []byte("k8s\x00")

// strippedList returns a list in Kubernetes' protobuf encoding without the fields that
// lightsout does not use, and other data unchanged. The result may share memory with
// buf.
func strippedList(buf, data []byte) []byte {
	if !bytes.HasPrefix(data, envelope) || len(data) >= 1<<(7*lengthSize) {
		return data
	}
	var unknown runtime.Unknown
	if unknown.TypeMeta.Unmarshal(bytesField(data[len(envelope):], 1)) != nil {
		return data
	}
	item, isList := strings.CutSuffix(unknown.Kind, "List")
	if !isList || stripped[item] == nil {
		return data
	}
	list := omitted{2: {2: stripped[item]}} // the object, its items
	if out, ok := list.strip(append(buf[:0], envelope...), data[len(envelope):]); ok {
		return out
	}
	return data
}
