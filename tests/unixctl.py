# SPDX-License-Identifier: Apache-2.0
"""What ovs-appctl does, without a process for each command."""

import json
import socket
import time


class Control:
    """A connection to a daemon's control socket."""

    def __init__(self, path, timeout=30, reply_timeout=300):
        self.socket = self.connect(path, timeout)
        self.socket.settimeout(reply_timeout)
        self.method = None

    @staticmethod
    def connect(path, timeout):
        """The socket's file is there a moment before it listens."""
        deadline = time.monotonic() + timeout
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(path)
                return s
            except (FileNotFoundError, ConnectionRefusedError):
                s.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def send(self, method, *args):
        self.method = method
        request = {'method': method, 'params': list(args), 'id': 0}
        self.socket.sendall(json.dumps(request).encode())

    def receive(self):
        """The reply to what was sent: its result and its error."""
        chunks = []
        while True:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise RuntimeError('%s: ovs-vswitchd is gone' % self.method)
            chunks.append(chunk)
            # Only where a reply may end: long ones come in many pieces.
            if chunk.rstrip().endswith(b'}'):
                try:
                    reply = json.loads(b''.join(chunks))
                    return reply.get('result'), reply.get('error')
                except ValueError:
                    pass

    def __call__(self, method, *args):
        self.send(method, *args)
        result, error = self.receive()
        if error is not None:
            raise RuntimeError('%s: %s' % (method, error))
        return result

    def close(self):
        self.socket.close()
