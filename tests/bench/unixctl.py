# SPDX-License-Identifier: Apache-2.0
"""What ovs-appctl does, without a process for each command."""

import json
import socket
import time


class Control:
    def __init__(self, path, timeout=30):
        self.socket = self.connect(path, timeout)

    @staticmethod
    def connect(path, timeout):
        """The socket's file is there a moment before it listens."""
        deadline = time.monotonic() + timeout
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(path)
                s.settimeout(300)
                return s
            except (FileNotFoundError, ConnectionRefusedError):
                s.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def __call__(self, method, *args):
        request = {'method': method, 'params': list(args), 'id': 0}
        self.socket.sendall(json.dumps(request).encode())
        chunks = []
        while True:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise RuntimeError('%s: ovs-vswitchd is gone' % method)
            chunks.append(chunk)
            # Only where a reply may end: long ones come in many pieces.
            if chunk.rstrip().endswith(b'}'):
                try:
                    reply = json.loads(b''.join(chunks))
                    break
                except ValueError:
                    pass
        if reply['error'] is not None:
            raise RuntimeError('%s: %s' % (method, reply['error']))
        return reply['result']

    def close(self):
        self.socket.close()
