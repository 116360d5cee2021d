package record

import (
	"reflect"
	"testing"

	"lightsout/loadgen"
)

// A field of a second that sameSecond forgets would be missing in records.
func TestNoTwoSecondsWithADifferenceAreTheSame(t *testing.T) {
	kind := reflect.TypeFor[loadgen.Second]()
	for i := range kind.NumField() {
		if kind.Field(i).Name == "At" {
			continue
		}
		var a, b loadgen.Second
		switch f := reflect.ValueOf(&b).Elem().Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Map:
			f.Set(reflect.ValueOf(map[loadgen.Class]int{loadgen.ClassRefused: 1}))
		default:
			b.Latency.Count = 1
		}
		if sameSecond(&a, &b) {
			t.Errorf("another %s is no difference", kind.Field(i).Name)
		}
	}
}
