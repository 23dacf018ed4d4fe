#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server for a Pod: answers who it is and whom it sees.

    pod-server.py --name NAME [--bind ADDRESS] PORT... [udp:PORT...]

Every HTTP request is answered by one line "NAME CLIENT-IP CLIENT-PORT", every
datagram likewise.  Connections stay open (HTTP/1.1) until the client closes.
"""

import argparse
import http.server
import socket
import socketserver
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    name = ""

    def do_GET(self):
        text = "%s %s %d\n" % (self.name, *self.client_address[:2])
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def server_bind(self):
        # HTTPServer's own asks the resolver for the host's name.
        socketserver.TCPServer.server_bind(self)
        self.server_name = self.name
        self.server_port = self.server_address[1]

    def handle_error(self, request, client_address):
        pass            # a client that went away is no news


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve_http(name, address, port):
    Handler.name = name
    Server.name = name
    Server.address_family = family_of(address)
    server = Server((address, port), Handler)
    server.serve_forever()


def serve_udp(name, address, port):
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.bind((address, port))
    while True:
        _, client = sock.recvfrom(2048)
        sock.sendto(("%s %s %d\n" % (name, *client[:2])).encode(), client)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--bind", default="0.0.0.0")
    parser.add_argument("ports", nargs="+")
    args = parser.parse_args()
    threads = []
    for port in args.ports:
        if port.startswith("udp:"):
            target, number = serve_udp, int(port[4:])
        else:
            target, number = serve_http, int(port)
        threads.append(threading.Thread(target=target,
                                        args=(args.name, args.bind,
                                              number)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
