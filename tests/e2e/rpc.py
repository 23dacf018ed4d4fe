# SPDX-License-Identifier: Apache-2.0
"""A client of the control socket that waits for as long as it takes, and may
send before it reads."""

import json
import socket


class Gone(Exception):
    """The daemon has closed the connection."""


class Client:
    def __init__(self, path, timeout=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.decoder, self.text = json.JSONDecoder(), ""

    def send(self, method, **params):
        self.socket.sendall(json.dumps(
            {"method": method, "id": 7, "params": [params]}).encode())

    def reply(self):
        """Result and error of the call; notifications of a watch are left
        out."""
        while True:
            try:
                message, end = self.decoder.raw_decode(self.text)
                self.text = self.text[end:].lstrip()
            except ValueError:
                data = self.socket.recv(65536)
                if not data:
                    raise Gone()
                self.text += data.decode()
                continue
            if message.get("id") == 7 and "method" not in message:
                return message["result"], message["error"]

    def call(self, method, **params):
        self.send(method, **params)
        return self.reply()
