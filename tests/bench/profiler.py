# SPDX-License-Identifier: Apache-2.0
"""Where the PMD thread spends its time, by perf(1)."""

import os
import shutil
import signal
import subprocess
import time

N_SYMBOLS = 25


class Profiler:
    def __init__(self):
        if not shutil.which('perf'):
            raise RuntimeError('no perf: install the package linux-perf')

    def start(self, switch):
        self.data = switch.dir + '/perf.data'
        self.process = subprocess.Popen(
            ['perf', 'record', '-q', '-F', '5000', '-o', self.data, '-t',
             str(switch.pmd_thread())],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # A burst may be over before perf has begun.
        while self.process.poll() is None and not self.has_begun():
            time.sleep(0.005)

    def has_begun(self):
        folder = '/proc/%d/fd' % self.process.pid
        try:
            return any('perf_event' in os.readlink(os.path.join(folder, fd))
                       for fd in os.listdir(folder))
        except OSError:                 # It closes some meanwhile.
            return False

    def finish(self, switch):
        """Prints the symbols that took the most."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        text = subprocess.run(
            ['perf', 'report', '-i', self.data, '--stdio', '--no-children',
             '-F', 'overhead,symbol', '--percent-limit', '0.3'],
            capture_output=True, text=True, check=True,
            stdin=subprocess.DEVNULL).stdout
        lines = [line for line in text.splitlines()
                 if line.strip() and not line.startswith('#')]
        print('  profile of %s:' % switch.side.name)
        for line in lines[:N_SYMBOLS]:
            print('   ' + line)
