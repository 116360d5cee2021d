package workload

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Nginx is a web server with one page, as a freshly installed nginx has. Every
// answer carries the pod's name in the header X-Pod-Name, and the node's in
// X-Node-Name, so that a client can tell who answered. It takes the flag
// --port (default 80).
func Nginx(ctx context.Context, in Instance) (Process, error) {
	in.printf("%s [notice] 1#1: nginx", time.Now().UTC().Format("2006/01/02 15:04:05"))
	in.printf("%s [notice] 1#1: start worker processes", time.Now().UTC().Format("2006/01/02 15:04:05"))
	return Serve(ctx, in.Host, net.JoinHostPort(in.IP, in.Arg("--port", "80")), logged(nginx(in), in.combined))
}

// clientGone is nginx's status of a request whose client went away.
const clientGone = 499

// combined writes a line of nginx's access log, in its format "combined".
func (in Instance) combined(a answered) {
	in.printf("%s - - [%s] %q %d %d %q %q", a.client(), time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700"),
		a.Method+" "+a.RequestURI+" "+a.Proto, cmp.Or(a.status, clientGone), a.bytes, cmp.Or(a.Referer(), "-"), cmp.Or(a.UserAgent(), "-"))
}

func nginx(in Instance) http.Handler {
	page := fmt.Sprintf(`<!DOCTYPE html>
<html>
<head><title>It works</title></head>
<body>
<h1>It works</h1>
<p>The web server is up, and this page was sent by pod %s on node %s.</p>
</body>
</html>
`, in.Pod.Name, in.Pod.Spec.NodeName)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "nginx")
		w.Header().Set("X-Pod-Name", in.Pod.Name)
		w.Header().Set("X-Node-Name", in.Pod.Spec.NodeName)
		mux.ServeHTTP(w, r)
	})
}
