package redfish

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// A controller of ten years ago has no cipher suite of today, or a certificate with a negative
// serial number. One setting accepts it, which the error names, and nothing less than its sum.
func TestAnOldControllerNeedsOneSetting(t *testing.T) {
	rsaOnly := func(c *tls.Config) {
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_256_GCM_SHA384}
	}
	negative := func(c *tls.Config) { c.Certificates = []tls.Certificate{negativeSerial(t)} }
	for name, old := range map[string]func(*tls.Config){"RSA key exchange": rsaOnly, "a negative serial number": negative} {
		b := oldBMC(t, old)
		state := func(change func(*Options)) power.Reading {
			r, err := newDriver(t, b, change).State(t.Context(), b.machine())
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return r
		}
		if r := state(nil); r.State != power.Unknown || !strings.Contains(r.Detail, "set legacy_tls: true under power.redfish") {
			t.Errorf("%s, without the setting: %+v", name, r)
		}
		if r := state(func(o *Options) { o.LegacyTLS = true }); r.State != power.On {
			t.Errorf("%s, with the setting: %+v", name, r)
		}
		if r := state(func(o *Options) { o.LegacyTLS, o.Fingerprints = true, nil }); r.State != power.Unknown || !strings.Contains(r.Detail, "not trusted") || !strings.Contains(r.Detail, b.sum()) {
			t.Errorf("%s, of a stranger: %+v", name, r)
		}
	}
	if r, err := newDriver(t, newBMC(t), nil).State(t.Context(), power.Machine{ID: "https://127.0.0.1:1/redfish/v1/Systems/1"}); err != nil || strings.Contains(r.Detail, "legacy_tls") {
		t.Errorf("an unreachable controller: %+v, %v", r, err)
	}
}

// oldBMC is a controller with other TLS settings.
func oldBMC(t *testing.T, change func(*tls.Config)) *bmc {
	t.Helper()
	b := newBMC(t)
	b.Close()
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.TLS = &tls.Config{}
	change(b.TLS)
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

// negativeSerial makes a certificate whose serial number is negative, as no library does: it makes one
// with a positive number, changes its first bit, and signs it again.
func negativeSerial(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(0x6EDCBA98), Subject: pkix.Name{CommonName: "bmc"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, SignatureAlgorithm: x509.SHA256WithRSA}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		t.Fatal(err)
	}
	tbs := bytes.Replace(parts.TBS.FullBytes, []byte{2, 4, 0x6E, 0xDC, 0xBA, 0x98}, []byte{2, 4, 0xEE, 0xDC, 0xBA, 0x98}, 1)
	sum := sha256.Sum256(tbs)
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	parts.TBS, parts.Signature = asn1.RawValue{FullBytes: tbs}, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	if der, err = asn1.Marshal(parts); err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil || leaf.SerialNumber.Sign() >= 0 {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
