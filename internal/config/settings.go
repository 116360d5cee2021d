package config

import (
	"crypto/sha256"
	"encoding/hex"

	"lightsout/internal/config/yamlfile"
)

// DriverSettings identifies the settings by which drivers reach machines: it hashes bastion, ssh and
// power. Two configs with the same result reach the same machine by the same ID, unless environment
// variables or files that they name differ. It is empty if the settings can't be written as YAML.
func (c *Config) DriverSettings() string {
	doc := yamlfile.Encode(struct {
		Bastion string `json:"bastion"`
		SSH     SSH    `json:"ssh"`
		Power   Power  `json:"power"`
	}{c.Bastion, c.SSH, c.Power})
	out, err := yamlfile.Write(doc)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(out))
	return hex.EncodeToString(sum[:8])
}
