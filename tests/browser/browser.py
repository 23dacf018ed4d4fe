# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to through ChromeDriver (W3C WebDriver).

    with Browser() as browser:
        browser.open("file:///...", width=400, dark=True)
        browser.run("return document.title")
        browser.screenshot("page.png")

The browser has a new, empty profile, and all of it goes away at the end.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--hide-scrollbars"]
TIMEOUT = 120


def find():
    """The programs needed, or None if one isn't installed."""
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    return (driver, chromium) if driver and chromium else None


class Browser:
    def __init__(self):
        self.driver = None
        self.session = None
        self.profile = None

    def __enter__(self):
        driver, chromium = find()
        self.profile = tempfile.mkdtemp(prefix="adp-browser.")
        # What they leave in their home folder and in /tmp goes there too.
        env = dict(os.environ, HOME=self.profile, TMPDIR=self.profile)
        self.driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=env)
        try:
            self.port = self._read_port()
            reply = self._call("POST", "/session", {"capabilities": {
                "alwaysMatch": {"goog:chromeOptions": {
                    "binary": chromium,
                    "args": FLAGS + ["--user-data-dir=" + self.profile
                                     + "/profile"]}}}})
            self.session = "/session/" + reply["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.session:
            try:
                self._call("DELETE", self.session)
            except OSError:
                pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read_port(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("chromedriver doesn't start")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            "http://127.0.0.1:%d%s" % (self.port, path), data, method=method,
            headers={"Content-Type": "application/json"})
        # No proxy: the driver is here.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=TIMEOUT) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def _devtools(self, command, **params):
        return self._call("POST", self.session + "/goog/cdp/execute",
                          {"cmd": command, "params": params})

    def open(self, url, width=1280, height=900, dark=False):
        """Shows a page in a window of that size."""
        self._devtools("Emulation.setDeviceMetricsOverride", width=width,
                       height=height, deviceScaleFactor=1, mobile=False)
        self._devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"}])
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script, *args):
        """What a JavaScript function with this body returns."""
        return self._call("POST", self.session + "/execute/sync",
                          {"script": script, "args": list(args)})

    def screenshot(self, path):
        """The window as a PNG."""
        with open(path, "wb") as out:
            out.write(base64.b64decode(
                self._call("GET", self.session + "/screenshot")))
