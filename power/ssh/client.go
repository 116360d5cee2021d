package ssh

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"lightsout/power"
)

// Options say how hosts are reached. The zero value dials directly, with the
// user's own ssh_config, agent, keys and known hosts.
type Options struct {
	// Bastion is an alias of the ssh_config or [user@]host[:port]; everything
	// goes through it. Empty: connections are made directly.
	Bastion string
	// ConfigFile is read instead of ~/.ssh/config and /etc/ssh/ssh_config.
	ConfigFile string
	// User is the user on nodes for which the ssh_config names none.
	User string
	// IdentityFiles and KnownHosts, if given, apply to every host and replace those of
	// the ssh_config.
	IdentityFiles, KnownHosts []string
	// KeepGoing has New make a client although the ssh_config cannot be used: each
	// connection that needs it fails with the reason.
	KeepGoing bool
	// AgentSocket is the ssh agent's socket; $SSH_AUTH_SOCK when empty, none
	// when "none".
	AgentSocket string

	// AskSecret asks for the passphrase of a key that the agent does not hold; an empty
	// answer or an error leaves the key out. It also asks for the password of a host
	// that accepts no key, and of sudo; the client forgets a password once it is sent.
	// The client asks one question at a time. The context ends when the answer is no longer
	// useful (the client was closed; for a node, the action was cancelled). Nil means
	// that there is no one to ask.
	AskSecret func(ctx context.Context, q SecretQuestion) (string, error)
	// Warn shows each key file and certificate that is left out, perhaps repeatedly.
	// Nil: only errors name them.
	Warn func(sentence string)

	// KeepAlive (5 s) is the pause between two keepalive requests to each host on the
	// route, and KeepAliveTimeout (5 s) the time for the answer before the connection
	// counts as lost.
	KeepAlive, KeepAliveTimeout time.Duration
	// ConnectTimeout (10 s) bounds the making of a connection to one host, and
	// apart from that its handshake. Questions don't count.
	ConnectTimeout time.Duration
	// RetryPause (1 s) is how long a failure stands before a host on the way is
	// dialled again.
	RetryPause time.Duration
}

// Client reaches hosts. It connects when it is first needed and again when the
// connection was lost, once for all who wait for it. It is safe for use by
// several goroutines.
type Client struct {
	opt     Options
	config  *config
	bastion *link // nil: direct
	keys    *keyring

	// ctx lives until Close; running are the goroutines that end with it.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	links map[string]*link // by the whole way

	identity struct {
		mu    sync.Mutex
		asked bool
		known BastionIdentity
	}
}

// New reads the ssh_config and makes a client. It connects to nothing.
func New(opt Options) (*Client, error) {
	opt.KeepAlive = cmp.Or(opt.KeepAlive, 5*time.Second)
	opt.KeepAliveTimeout = cmp.Or(opt.KeepAliveTimeout, 5*time.Second)
	opt.ConnectTimeout = cmp.Or(opt.ConnectTimeout, 10*time.Second)
	opt.RetryPause = cmp.Or(opt.RetryPause, time.Second)
	if opt.Warn == nil {
		opt.Warn = func(string) {}
	}
	opt.AgentSocket = cmp.Or(opt.AgentSocket, os.Getenv("SSH_AUTH_SOCK"))
	cfg, err := readConfig(opt)
	if err != nil && !opt.KeepGoing {
		return nil, err
	}
	c := &Client{
		opt: opt, config: cfg, links: map[string]*link{},
		keys: &keyring{ask: opt.AskSecret, socket: opt.AgentSocket, turn: semaphore.NewWeighted(1)},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if opt.Bastion == "" {
		return c, nil
	}
	way, err := cfg.way(opt.Bastion, "")
	switch {
	case err == nil:
		c.bastion = c.linkTo(way)
	case opt.KeepGoing:
		user, name, port, _ := splitSpec(opt.Bastion)
		c.bastion = &link{client: c, host: host{alias: name, name: name, port: cmp.Or(port, "22"), user: cmp.Or(user, os.Getenv("USER"))}, unusable: never(err)}
	default:
		return nil, err
	}
	return c, nil
}

// never returns err as a *power.RefusedError, so that nobody repeats the request.
func never(err error) error {
	if errors.As(err, new(*power.RefusedError)) {
		return err
	}
	return &power.RefusedError{Why: err.Error()}
}

// linkTo gives the link at the end of a way, made of one link a host; nil for
// an empty way.
func (c *Client) linkTo(way []host) (last *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := ""
	for _, h := range way {
		id += " " + h.String()
		l, ok := c.links[id]
		if !ok {
			l = &link{client: c, host: h, via: last, session: semaphore.NewWeighted(1)}
			c.links[id] = l
		}
		last = l
	}
	return last
}

// dialLimit bounds the making of a connection through the bastion.
const dialLimit = time.Minute

// DialContext connects to an address, through the bastion if there is one, as
// seen from there. The connection supports deadlines. It can be used as
// rest.Config.Dial and http.Transport.DialContext. Waiting ends with ctx, or after
// dialLimit. The error is a *ConnectError where the way or the address is to blame, and
// names the host that is.
func (c *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return c.dialVia(ctx, c.bastion, network, addr)
}

// dialVia connects to an address through a link, or directly without one.
func (c *Client) dialVia(ctx context.Context, l *link, network, addr string) (net.Conn, error) {
	if l != nil {
		return l.dial(ctx, network, addr)
	}
	if c.ctx.Err() != nil {
		return nil, errClosed
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, dialFailed(addr, err)
	}
	return conn, nil
}

// node resolves a host that is not the bastion, and the link it lies behind.
func (c *Client) node(spec string) (host, *link, error) {
	if c.bastion != nil {
		h, err := c.config.lookup(spec, c.opt.User)
		return h, c.bastion, err
	}
	way, err := c.config.way(spec, c.opt.User)
	if err != nil {
		return host{}, nil, err
	}
	last := len(way) - 1
	return way[last], c.linkTo(way[:last]), nil
}

// Via is the bastion as it was given, with its user ("mdxuser@bastion"); empty
// when connections are made directly.
func (c *Client) Via() string {
	if c.bastion == nil {
		return ""
	}
	h := c.bastion.host
	h.name = h.alias
	return h.String()
}

// Close ends every connection made through the client, and waits for its
// goroutines.
func (c *Client) Close() error {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// spawn runs f as one of the goroutines that Close waits for; false when the
// client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Go(f)
	return true
}
