package workload

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// Nginx is a web server with one page, as a freshly installed nginx has. Every
// answer carries the pod's name in the header X-Pod-Name, and the node's in
// X-Node-Name, so that a client can tell who answered. It takes the flag
// --port (default 80).
func Nginx(ctx context.Context, in Instance) (Process, error) {
	return Serve(ctx, in.Host, net.JoinHostPort(in.IP, in.Arg("--port", "80")), nginx(in))
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
