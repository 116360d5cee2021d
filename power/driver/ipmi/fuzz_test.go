package ipmi

import (
	"testing"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"
)

// FuzzPackets: no packet of a controller ends the program.
func FuzzPackets(f *testing.F) {
	for _, s := range []string{
		"", "\x06\x00\xff\x07", "\x06\x00\xff\x06\x00\x00\x11\xbe\x80\x00\x00\x00",
		"\x06\x00\xff\x07\x06\x10\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x20\x18\xc8\x81\x04\x38\x8e\x04\xb5",
		"\x06\x00\xff\x07\x06\xc0\x01\x00\x00\x00\x01\x00\x00\x00\x04\x00abcd\xff\xff\x02\x07", "\x21\x10\x40\x54",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, p := range []interface{ Unpack([]byte) error }{
			&types.Rmcp{}, &rmcpplus.OpenSessionResponse{}, &rmcpplus.RAKPMessage2{}, &rmcpplus.RAKPMessage4{},
			&app.GetChannelCipherSuitesResponse{}, &app.SetSessionPrivilegeLevelResponse{}, &chassis.GetChassisStatusResponse{},
		} {
			_ = p.Unpack(b)
		}
		_, _ = app.ParseCipherSuitesData(b)
	})
}
