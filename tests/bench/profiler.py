# SPDX-License-Identifier: Apache-2.0
"""Where the PMD thread spends its time, by perf(1)."""

import shutil
import signal
import subprocess

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
