package openstack

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/gophercloud/gophercloud/v2"
	osclient "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/rest"
)

// credentials are what the cloud is logged in to with.
type credentials struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

func (c credentials) secrets() []string {
	return []string{c.auth.Password, c.auth.Passcode, c.auth.ApplicationCredentialSecret, c.auth.TokenID}
}

// read takes the credentials from the cloud's entry in clouds.yaml, or from the
// environment when no cloud is named.
func (opt Options) read() (c credentials, err error) {
	if cloud := cmp.Or(opt.Cloud, os.Getenv("OS_CLOUD")); cloud != "" {
		c, err = fromFile(cloud, opt.CloudsFile)
	} else {
		c, err = fromEnvironment()
	}
	if err != nil {
		return c, err
	}
	c.endpoint.Region = cmp.Or(opt.Region, c.endpoint.Region)
	if c.tls.InsecureSkipVerify {
		return c, errors.New("clouds.yaml turns the verification of certificates off (verify: false), and lightsout does not send passwords to strangers: give the cloud's authority as cacert there")
	}
	c.tls.MinVersion = tls.VersionTLS12
	c.auth.AllowReauth = c.auth.TokenID == ""
	return c, nil
}

func fromEnvironment() (c credentials, err error) {
	c.tls = &tls.Config{}
	c.auth, err = osclient.AuthOptionsFromEnv()
	if err != nil {
		return c, fmt.Errorf("OpenStack's credentials are not in the environment (%s); set cloud under power.openstack, or OS_CLOUD or the other OS_ variables", power.Clean(err.Error()))
	}
	c.endpoint.Region = os.Getenv("OS_REGION_NAME")
	if file := os.Getenv("OS_CACERT"); file != "" {
		pem, err := text.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("the file of OS_CACERT can't be read: %w", err)
		}
		c.tls.RootCAs = x509.NewCertPool()
		if !c.tls.RootCAs.AppendCertsFromPEM(pem) {
			return c, fmt.Errorf("there is no certificate in the file of OS_CACERT, %s", file)
		}
	}
	return c, nil
}

// fromFile reads a cloud of the clouds.yaml at path; empty: of the one that OpenStack's own
// commands would find.
func fromFile(cloud, path string) (c credentials, err error) {
	where := []clouds.ParseOption{clouds.WithCloudName(cloud)}
	if path != "" {
		where = append(where, clouds.WithLocations(path))
	}
	defer func() {
		if recover() != nil { // the library's, of an entry without auth
			err = fmt.Errorf("the cloud %q has no auth section in clouds.yaml", power.Clean(cloud))
		}
	}()
	c.auth, c.endpoint, c.tls, err = clouds.Parse(where...)
	if err != nil {
		return c, fmt.Errorf("the cloud %q can't be read: %s; correct its clouds.yaml, or clouds_file under power.openstack", power.Clean(cloud), quoted.ReplaceAllString(power.Clean(err.Error()), "`…`"))
	}
	if c.auth.IdentityEndpoint == "" {
		return c, fmt.Errorf("the cloud %q has no auth_url in clouds.yaml", power.Clean(cloud))
	}
	return c, nil
}

// quoted matches what a YAML library's error quotes, which may be a password.
var quoted = regexp.MustCompile("`[^`]*`")

// connect gives the client for Nova, logging in when nobody has yet: one does it
// for all who wait.
func (d *Driver) connect(ctx context.Context) (*gophercloud.ServiceClient, error) {
	if err := d.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer d.turn.Release(1)
	if d.nova != nil {
		return d.nova, nil
	}
	c, err := d.opt.read()
	if err != nil {
		return nil, &power.RefusedError{Why: err.Error()}
	}
	secrets := c.secrets
	d.secrets.Store(&secrets)
	provider, err := osclient.NewClient(c.auth.IdentityEndpoint)
	if err != nil {
		return nil, &power.RefusedError{Why: fmt.Sprintf("auth_url is not a URL: %q", power.Clean(c.auth.IdentityEndpoint))}
	}
	transport := rest.Transport(d.opt.Dial, "tcp")
	transport.TLSClientConfig = c.tls
	provider.HTTPClient = *rest.HTTP(transport)
	if err := osclient.Authenticate(rest.Harmless(ctx), provider, c.auth); err != nil {
		provider.HTTPClient.CloseIdleConnections()
		return nil, d.explain("OpenStack rejected the login", err)
	}
	if again := provider.ReauthFunc; again != nil {
		provider.ReauthFunc = func(ctx context.Context) error { return again(rest.Harmless(ctx)) }
	}
	nova, err := osclient.NewComputeV2(provider, c.endpoint)
	if err != nil {
		provider.HTTPClient.CloseIdleConnections()
		return nil, &power.RefusedError{Why: fmt.Sprintf("OpenStack's catalog has no compute service to use (%s); set region under power.openstack if there are several", power.Clean(err.Error()))}
	}
	d.nova = nova
	withToken := func() []string { return append(c.secrets(), nova.Token()) }
	d.secrets.Store(&withToken)
	return nova, nil
}
