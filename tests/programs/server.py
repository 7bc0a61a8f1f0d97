"""A server whose health is the content of a file: `ok`, or anything else."""

import http.server
import sys

port, path = int(sys.argv[1]), sys.argv[2]


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if open(path).read() == "ok" else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Health).serve_forever()
