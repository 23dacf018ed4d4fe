# SPDX-License-Identifier: Apache-2.0
"""Two packet threads on one meter, and two that send packets to a controller,
while meters and flows change: each packet is somewhere in the end.

Sources send LIMIT packets each.  What leaves is counted at two ports, and what
doesn't by counters."""

import random
import re
import threading
import time

import openflow
from daemon import LIMIT, NUMBERS

TIMEOUT = 180
PASSED, OTHER = NUMBERS['to-passed'], NUMBERS['to-other']
# Of the ports where packets are counted come answers.
FLOWS = """
priority=30,in_port=%d actions=drop
priority=30,in_port=%d actions=drop
priority=0 actions=output:%d
table=1,priority=0 actions=output:%d
""" % (PASSED, OTHER, OTHER, OTHER)
# One source's packets have been tracked.
METERED = """
priority=10,in_port=3 actions=meter:1,output:1
priority=10,in_port=4,ip actions=ct(table=1,zone=11)
table=1,priority=10,ip actions=meter:1,output:1
"""
FIXED = """
priority=10,in_port=5 actions=meter:1,output:1
priority=10,in_port=6 actions=meter:1,output:1
"""
CONTROLLER = """
priority=10,in_port=7 actions=controller,output:1
priority=10,in_port=8 actions=meter:2,controller
"""
DROPS = 'meter=%d,pktps,burst,stats,band=type=drop,rate=100,burst_size=20'
PASSES = 'meter=%d,pktps,stats,band=type=drop,rate=1000000'
METERS = (DROPS,
          'meter=%d,pktps,burst,stats,band=type=drop,rate=1500,burst_size=9',
          'meter=%d,kbps,burst,stats,band=type=drop,rate=300,burst_size=80',
          PASSES)


class Listener(threading.Thread):
    """A controller, which may stop to listen."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.connection = openflow.Connection(path)
        self.connection.take_packets()
        self.listens = threading.Event()
        self.listens.set()
        self.error = None

    def run(self):
        try:
            while self.listens.wait():
                self.connection.receive()
        except (OSError, RuntimeError) as e:
            self.error = e

    @property
    def n(self):
        return self.connection.n_packet_ins


class Counts:
    def __init__(self, check, switch, seed):
        self.check, self.switch = check, switch
        self.rnd = random.Random('%d/counts' % seed)
        switch.vsctl('add-br', 'br-count', '--', 'set', 'Bridge', 'br-count',
                     'datapath_type=antrea', 'fail_mode=secure',
                     'other_config:antrea-dp-pipeline=none')
        self.add_ports('to-passed', 'to-other')
        self.add_flows(FLOWS)

    def add_ports(self, *names):
        self.switch.vsctl(*[arg for name in names
                            for arg in self.switch.pod_args(name)][1:])

    def ofctl(self, command, *args, stdin=None):
        return self.switch.tool(
            'ovs-ofctl', '-O', 'OpenFlow15', command,
            self.switch.dir + '/br-count.mgmt', *args, stdin=stdin)

    def add_flows(self, flows):
        self.ofctl('add-flows', '-', stdin=flows)

    def counter(self, name):
        return int(self.switch.control('coverage/read-counter', name))

    def port(self, name, way):
        """How many packets it received or sent."""
        text = self.ofctl('dump-ports', str(NUMBERS[name]))
        return int(re.search(r'%s pkts=(\d+)' % way, text)[1])

    def start(self, *sources):
        """Sends them something."""
        self.sources = sources
        self.ofctl('packet-out', 'in_port=controller,packet=%s,actions=%s' % (
            'ff' * 6 + '020000000401' + '88b5' + '00' * 46,
            ','.join('output:%d' % NUMBERS[name] for name in sources)))

    def all_sent(self):
        return all(self.port(name, 'rx') == LIMIT for name in self.sources)

    def change_until(self, done, *steps):
        """Returns False if it takes too long."""
        deadline = time.monotonic() + TIMEOUT
        while not done():
            if time.monotonic() > deadline or not self.switch.alive():
                return False
            if steps:
                self.rnd.choice(steps)()
            time.sleep(self.rnd.random() * .05)
        return True

    def modify_meter(self):
        self.ofctl('mod-meter', self.rnd.choice(METERS) % 1)

    def replace_meter(self):
        """Flows go with their meter."""
        self.ofctl('del-meter', 'meter=1')
        time.sleep(self.rnd.random() * .05)
        self.ofctl('add-meter', self.rnd.choice(METERS) % 1)
        time.sleep(self.rnd.random() * .05)
        self.add_flows(METERED)

    def replace_flows(self):
        self.ofctl('add-flows', '-', '--bundle', stdin=METERED)

    def look(self):
        self.ofctl('meter-stats')
        self.ofctl('dump-flows')
        self.switch.control('coverage/show')

    def changing_meter(self):
        self.add_ports('s1', 's2')
        self.ofctl('add-meter', METERS[1] % 1)
        self.add_flows(METERED)
        self.start('s1', 's2')

        def parts():
            return (self.port('to-passed', 'tx'), self.port('to-other', 'tx'),
                    self.counter('datapath_drop_meter'))
        # Some of each; what is drawn afterwards need not lead to that.
        self.ofctl('mod-meter', PASSES % 1)
        some = self.change_until(lambda: parts()[0] > 100)
        self.ofctl('mod-meter', DROPS % 1)
        some = some and self.change_until(lambda: parts()[2] > 100)
        self.ofctl('del-meter', 'meter=1')
        some = some and self.change_until(lambda: parts()[1] > 100)
        self.ofctl('add-meter', METERS[1] % 1)
        self.add_flows(METERED)
        self.check(some, 'there was some of each', *parts())

        ended = self.change_until(self.all_sent, self.modify_meter,
                                  self.replace_meter, self.replace_flows,
                                  self.look)
        ended = ended and self.change_until(
            lambda: sum(parts()) >= 2 * LIMIT)
        passed, other, dropped = parts()
        self.check(ended and passed + other + dropped == 2 * LIMIT,
                   'what passed a changing meter, or went by it, and what it '
                   'dropped is what was offered',
                   passed, other, dropped)

    def fixed_meter(self):
        """Which counts, too."""
        self.ofctl('mod-meter', 'meter=1,pktps,burst,stats,'
                   'band=type=drop,rate=1500,burst_size=20')
        self.add_ports('s3', 's4')
        self.add_flows(FIXED)
        before = self.counter('datapath_drop_meter')
        passed = self.port('to-passed', 'tx')
        self.start('s3', 's4')

        def dropped():
            return self.counter('datapath_drop_meter') - before
        ended = self.change_until(self.all_sent) and self.change_until(
            lambda: self.port('to-passed', 'tx') - passed + dropped()
            >= 2 * LIMIT)
        text = self.ofctl('meter-stats', 'meter=1')
        n_in = re.search(r'packet_in_count:(\d+)', text)
        n_dropped = re.search(r'0: packet_count:(\d+)', text)
        self.check(ended and n_in and n_dropped
                   and int(n_in[1]) == 2 * LIMIT
                   and 100 < int(n_dropped[1]) == dropped()
                   and (self.port('to-passed', 'tx') - passed
                        + dropped() == 2 * LIMIT),
                   'a meter of two threads counts each packet once',
                   ended, dropped(), text)

    def modify_controller_meter(self):
        self.ofctl('mod-meter', self.rnd.choice(METERS) % 2)

    def many_flows(self):
        """The main thread is busy; packets wait for it."""
        self.ofctl('add-flows', '-', '--bundle', stdin='\n'.join(
            'table=9,priority=%d,ip,nw_src=10.90.%d.%d actions=drop' % (
                self.rnd.randrange(100), *divmod(i, 256))
            for i in range(2000)) + CONTROLLER)

    def controller(self):
        listener = Listener(self.switch.dir + '/br-count.mgmt')
        self.add_ports('s5', 's6')
        self.ofctl('add-meter', METERS[1] % 2)
        self.add_flows(CONTROLLER)
        before = self.counter('datapath_drop_meter')
        passed = self.port('to-passed', 'tx')
        listener.start()
        self.start('s5', 's6')

        def parts():
            return (listener.n, self.counter('datapath_drop_meter') - before,
                    self.counter('packet_in_overflow'),
                    self.counter('rconn_overflow'))
        listener.listens.clear()
        full = self.change_until(lambda: parts()[3])
        listener.listens.set()
        full = full and self.change_until(lambda: parts()[2], self.many_flows)
        self.check(full, 'both queues to the controller were full', parts())
        ended = self.change_until(self.all_sent, self.many_flows, self.look,
                                  self.modify_controller_meter)
        ended = ended and self.change_until(
            lambda: sum(parts()) >= 2 * LIMIT)
        self.check(ended and sum(parts()) == 2 * LIMIT and not listener.error,
                   'what a controller got, meter and full queues dropped is '
                   'what was offered', parts(), listener.error)
        self.check(parts()[0] > 100 and parts()[1] > 100,
                   'there was some of each', parts())
        self.check(self.port('to-passed', 'tx') - passed == LIMIT,
                   'what goes to a controller and on goes on',
                   self.port('to-passed', 'tx') - passed)


def counts(check, switch, seed):
    c = Counts(check, switch, seed)
    c.changing_meter()
    c.fixed_meter()
    c.controller()
