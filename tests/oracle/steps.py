# SPDX-License-Identifier: Apache-2.0
"""What is done to both switches, step by step, and compared.

A step is a list, so that a run can be written down and repeated:

    ['packets', PORT, [FRAME, ...]]     one batch
    ['burst', [[PORT, [FRAME, ...]], ...]]
                                        many, one after the other
    ['warp', MS]                        time passes
    ['ofctl', [COMMAND, ...], STDIN]    change flows and groups
    ['try', [COMMAND, ...], STDIN]      the same; both may refuse it
    ['appctl', [COMMAND, ...]]          change something in the daemon
    ['add-port', PORT, NUMBER]          also gives a new number
    ['del-port', PORT]
    ['vsctl', [COMMAND, ...]]           change the configuration
    ['tunnel', [COLUMN, ...]]           what the tunnel's Interface is
    ['pipeline', NAME, OPTIONS]         ours has this built-in pipeline, and the
                                        stock one the same flows
    ['records', [RECORD, ...], [RECORD, ...]]
                                        apply the first to it, delete the others
    ['bytes', BOOL]                     whether both count the same bytes
    ['learns', BOOL]                    whether packets change flows
    ['expire']                          let flows expire that have timed out
    ['check', WHAT]                     compare connections and counters

Frames are bytes, or text in hexadecimal."""

import collections
import re
import time

import order
import packets
import records
import threaded
import tunnels


# Event counters of packets that come to an end.
DROPS = ['drop_action_' + why for why in (
    'of_pipeline', 'recursion_too_deep', 'too_many_resubmit',
    'stack_too_deep', 'no_recirculation_context', 'recirculation_conflict',
    'invalid_tunnel_metadata', 'congestion', 'forwarding_disabled')] + [
    'datapath_drop_' + why for why in (
        'upcall_error', 'lock_error', 'recirc_error', 'invalid_port',
        'tunnel_push_error', 'tunnel_pop_error', 'invalid_tnl_port',
        'rx_invalid_packet', 'meter', 'userspace_action_error')]

# Steps that a method can't be called.
METHODS = {'add-port': 'add_port', 'del-port': 'del_port', 'try': 'try_',
           'bytes': 'bytes_'}

NOBODY = '0e:00:00:00:00:01'


class Mismatch(Exception):
    """'step' is the number of the step that differed first, and 'batch' that
    of the batch in it, if it is a burst."""

    def __init__(self, text):
        super().__init__(text)
        self.step = self.batch = None


def diff(title, ours, stock):
    ours, stock = collections.Counter(ours), collections.Counter(stock)
    lines = [title]
    for name, more in ('antrea', ours - stock), ('netdev', stock - ours):
        lines += ['  only %s: %s' % (name, x)
                  for x in sorted(more.elements())[:8]]
    return '\n'.join(lines)


def as_bytes(frame):
    return bytes.fromhex(frame) if isinstance(frame, str) else frame


def show(sent):
    return ['%s: %s' % (port, frame.hex()) for port, frame in sent]


def per_port(sent):
    ports = {}
    for port, frame in sent:
        ports.setdefault(port, []).append(frame)
    return ports


def is_fragment(frame):
    """Of IPv4 or IPv6, perhaps behind MPLS labels."""
    start = packets.behind_tags(frame)
    kind, ip = frame[start:start + 2], frame[start + 2:]
    if kind in (b'\x88\x47', b'\x88\x48'):
        while len(ip) >= 4 and not ip[2] & 1:
            ip = ip[4:]
        ip = ip[4:]
        kind = {4: b'\x08\0', 6: b'\x86\xdd'}.get(ip[0] >> 4 if ip else 0)
    return (kind == b'\x08\0' and int.from_bytes(ip[6:8], 'big') & 0x3fff
            or kind == b'\x86\xdd' and ip[6:7] == b'\x2c')


class Pair:
    """Our switch and the stock one."""

    # When the time stands, the thread that sweeps expired connections wakes up
    # this long after it did last.
    SWEEP_MS = 20000

    def __init__(self, ours, stock):
        self.ours, self.stock = ours, stock
        self.both = ours, stock
        self.both_track_sctp = stock.is_ours()
        self.steps = []
        self.n_packets = self.n_sent = self.n_told = 0
        self.with_fragments = True      # Compares them, too.
        self.learning = self.fdb = self.sync = False
        self.same_bytes = True
        self.cached = True              # There may be megaflows.
        self.all_ports = dict(ours.ports)
        self.counted_before = {}        # Event counter -> of both.
        self.undo = []                  # What restore() has to do.
        self.tunnel_kind = 'geneve'
        self.since_sweep = 0
        self.warp(self.SWEEP_MS + 1000)    # From now on both sweep together.

    def do(self, step):
        """Does 'step' and returns what the stock switch sent, a list of (port,
        frame)."""
        self.steps.append(step)
        try:
            return getattr(self, METHODS.get(step[0], step[0]))(*step[1:])
        except Mismatch as e:
            if e.step is None:
                e.step = len(self.steps) - 1
            raise

    def dead(self):
        """What is told of a switch whose daemon is gone, or None."""
        return next((why for why in (sw.dead() for sw in self.both) if why),
                    None)

    # Both at once.

    def control(self, *command):
        """The two replies: result and error."""
        for sw in self.both:
            sw.control.send(*command)
        return [sw.control.receive() for sw in self.both]

    def control_same(self, *command):
        ours, stock = self.control(*command)
        if (ours[1] is None) != (stock[1] is None):
            raise Mismatch('%s: %s' % (' '.join(command), [ours, stock]))

    def turn(self):
        """Returns when all that has reached the switches so far has been
        handled.  The main loop serves its ports, then each control connection
        in turn, until no request waits on it: what is asked on one after a
        reply on the other and one on itself is answered in a later turn."""
        for name in 'control', 'other_control', 'control':
            for sw in self.both:
                getattr(sw, name).send('version')
            for sw in self.both:
                getattr(sw, name).receive()

    def tools(self, commands, stdin=None):
        processes = [sw.popen(*command)
                     for sw, command in zip(self.both, commands)]
        # The first to wait for may need what the other prints: small enough.
        results = []
        for process in processes:
            out, err = process.communicate(stdin, timeout=60)
            results.append((process.returncode, out, err))
        return results

    def ofctl_both(self, command, stdin=None):
        return self.tools([sw.ofctl_args(*command) for sw in self.both],
                          stdin)

    # Steps.

    def packets(self, port, frames):
        return self.burst([[port, frames]])

    def burst(self, batches):
        batches = [(port, [as_bytes(frame) for frame in frames])
                   for port, frames in batches]
        self.n_packets += sum(len(frames) for _, frames in batches)
        encoded = self.stock.wire.encode(batches)
        one_by_one = all(len(frames) == 1 for _, frames in batches)
        punts = None if one_by_one else self.ours.n_punts()
        self.cached = True
        if self.learning:
            # Flows expire behind a round, which would be anywhere in between;
            # some at once: their hard_timeout, behind a FIN, is less than they
            # are old.
            self.control('revalidator/pause')
        for sw in self.both:
            # What a packet learns, ours lets the turn after the next know.
            sw.begin(batches, encoded, gap=2 if self.learning else 0)
        for sw in self.both:
            sw.finish()
        if self.learning:
            self.control('revalidator/resume')
        ours, stock = [sw.take() for sw in self.both]
        if self.ours.threads:
            self.compare_threads(batches, *(
                [(port, frame) for _, port, frame in sw.decode(sent)]
                for sw, sent in zip(self.both, (ours, stock))))
        elif ours != stock:
            self.compare_bursts(batches, punts, *(
                self.per_batch(sw.decode(sent))
                for sw, sent in zip(self.both, (ours, stock))))
        sent = self.compared(self.stock.decode(stock))
        self.n_sent += len(sent)
        if self.learning:
            self.settle()
        return [(port, frame) for _, port, frame in sent]

    def compared(self, sent):
        """What is to be compared of 'sent', a list of tuples with the frame at
        their end."""
        return [each for each in sent
                if (self.with_fragments or not is_fragment(each[-1]))
                and not tunnels.is_question(*each[-2:])]

    def per_batch(self, sent):
        """Batch -> list of (port, frame)."""
        found = {}
        for batch, port, frame in self.compared(sent):
            found.setdefault(batch, []).append((port, frame))
        return found

    def compare_bursts(self, batches, punts, ours, stock):
        if punts is not None:
            punts = self.ours.n_punts() - punts
        for n in sorted({*ours, *stock}):
            port, frames = batches[n] if n < len(batches) else ('none', [])
            try:
                self.compare_batch(port, frames, punts, ours.get(n, []),
                                   stock.get(n, []))
            except Mismatch as e:
                e.batch = n
                raise

    @staticmethod
    def compare_threads(batches, ours, stock):
        if sorted(ours) != sorted(stock):
            raise Mismatch(diff('%d packets' % len(batches), show(ours),
                                show(stock)))
        wrong = threaded.disorder(batches, ours, stock)
        if wrong:
            raise Mismatch('%d packets\n  order of a connection on %s: antrea '
                           '%s, netdev %s' % (len(batches), *wrong))

    @staticmethod
    def compare_batch(port, frames, punts, ours, stock):
        if len(frames) == 1:
            same = per_port(ours) == per_port(stock)
        else:
            # A batch may leave in another order than it came.
            same = sorted(ours) == sorted(stock)
        if not same:
            raise Mismatch(diff('packets on %s: %s' % (
                port, ' '.join(f.hex() for f in frames)),
                show(ours), show(stock)))
        wrong = len(frames) > 1 and order.disorder(frames, ours, stock, punts)
        if wrong:
            raise Mismatch(
                'packets on %s: %s\n  order of a connection on %s: antrea %s, '
                'netdev %s' % (port, ' '.join(f.hex() for f in frames),
                               *wrong))

    def sent(self):
        """What each switch has sent since the last call."""
        return [self.compared(sw.sent()) for sw in self.both]

    def warp(self, ms):
        self.revalidate()               # Counts what was used until now.
        self.cached = True              # By fragments that nobody waits for.
        self.control('time/warp', str(ms))
        self.turn()
        self.since_sweep += ms
        if self.since_sweep >= self.SWEEP_MS:
            self.since_sweep = 0
            self.wait_for_sweep()
        return self.stray('time passed')

    def wait_for_sweep(self):
        """Until no connection is left that has expired."""
        deadline = time.monotonic() + 60
        for sw in self.both:
            while int(sw.control('dpctl/ct-get-nconns')) > len(
                    sw.connections()):
                if time.monotonic() > deadline:
                    raise RuntimeError('%s: connections never leave' % sw.name)

    def stray(self, why):
        """Packets that nobody injected now."""
        ours, stock = self.sent()
        if sorted(ours) != sorted(stock):
            raise Mismatch(diff(why, show(ours), show(stock)))
        return stock

    def ofctl(self, command, stdin=None):
        why = self.attempt(command, stdin)
        if why:
            raise RuntimeError('%s: %s' % (command, why))

    def try_(self, command, stdin=None):
        """Returns true if it was done."""
        return not self.attempt(command, stdin)

    def attempt(self, command, stdin):
        """Returns why both refused, or None."""
        self.revalidate()
        ours, stock = self.ofctl_both(command, stdin)
        if (ours[0] != 0) != (stock[0] != 0):
            raise Mismatch('%s: %s' % (command, [ours, stock]))
        if ours[0]:
            return ours[2][:500]
        self.settle()
        if command[0] == 'mod-table':
            self.undo.append(lambda: self.ofctl_both(
                ['mod-table', command[1], 'drop', '-O', 'OpenFlow11']))
        return None

    def revalidate(self):
        """Lets stock compare what it has cached with the flows, and count the
        packets.  Before flows change: it counts packets where they would go by
        now.  And after: it notices a change only some milliseconds later.  The
        round that ends first may have begun before.  Then, while its threads
        sleep, lets it forget all; until packets come, there is nothing more to
        compare."""
        if not self.cached:
            return
        self.cached = False
        for _ in range(2):
            for sw in self.both:
                sw.waiting.send('revalidator/wait')
            # Causes a round.
            self.fdb = not self.fdb
            if self.fdb:
                self.control_same('fdb/add', 'br0', 'br0', '4000', NOBODY)
            else:
                self.control_same('fdb/del', 'br0', '4000', NOBODY)
            for sw in self.both:
                sw.waiting.receive()
        self.control('revalidator/purge')

    def settle(self):
        self.revalidate()
        self.turn()
        return self.stray('flows changed')

    def appctl(self, command):
        self.control_same(*command)
        self.turn()
        if command[0] == 'dpctl/ct-set-limits':
            zone = command[1].split(',')[0]
            self.undo.append(lambda: self.control('dpctl/ct-del-limits', zone))

    def vsctl(self, *commands):
        """One for both, or one for each."""
        self.revalidate()
        commands = [sw.vsctl_args(*(sw.datapath_type if x == 'DATAPATH' else x
                                    for x in command))
                    for sw, command in zip(self.both, commands * 2)]
        for code, _, err in self.tools(commands):
            if code:
                raise RuntimeError('%s: %s' % (commands, err))
        self.settle()
        if commands[0][3] == 'add-zone-tp':
            zone = commands[0][5]
            self.undo.append(lambda: self.vsctl(
                ['--if-exists', 'del-zone-tp', 'DATAPATH', zone]))

    def add_port(self, port, number):
        for sw in self.both:
            sw.ports[port] = number
        self.vsctl(['--if-exists', 'del-port', port])
        self.vsctl(*(sw.add_port_args(port, number) for sw in self.both))
        for sw in self.both:
            sw.ports_up()
        self.settle()

    def del_port(self, port):
        for sw in self.both:
            del sw.ports[port]
        self.vsctl(['del-port', port])

    def pipeline(self, name, options):
        self.ours.vsctl('set', 'bridge', 'br0',
                        'other_config:antrea-dp-pipeline=' + name,
                        'other_config:antrea-dp-pipeline-options=' + options)
        self.stock.ofctl('bundle', '-', stdin='flow delete\ngroup delete\n')
        self.stock.ofctl('del-meters')
        self.sync = name != 'none' and records.Sync(self)
        if self.sync:
            self.ours.control('antrea-dp/reinstall', 'br0')
            self.follow()

    def records(self, apply, delete):
        self.revalidate()
        self.ours.transact(apply, delete)
        self.follow()

    def follow(self):
        """Stock gets the flows that ours has."""
        meters, lines = self.sync.run()
        for meter in meters:
            self.stock.ofctl('add-meter', meter)
        if lines:
            self.stock.ofctl('bundle', '-', stdin='\n'.join(lines) + '\n')
        self.settle()

    def tunnel(self, columns):
        self.tunnel_kind = columns[0].split('=')[1]
        self.vsctl(['clear', 'interface', tunnels.PORT, 'options', '--', 'set',
                    'interface', tunnels.PORT, 'options:remote_ip=flow',
                    'options:key=flow', *columns])

    def bytes_(self, same):
        self.same_bytes = same

    def learns(self, learning):
        if learning != self.learning:
            # What ours caches of a punted packet would hide from the next one
            # what that has learned, until a round of the revalidators.
            self.ours.cache(not learning)
            # By the next round.
            self.cached = True
            self.revalidate()
        self.learning = learning

    def expire(self):
        """Flows expire after a round of the revalidators."""
        self.cached = True
        self.settle()

    # Comparing.

    def check(self, what='connections counters'):
        self.revalidate()
        self.turn()
        # Stock has a packet parsed anew for a controller: of one that got more
        # tags than vlan-limit allows it tells less.
        told = [[text for text in sw.packet_ins() if 'dl_vlan1=' not in text]
                for sw in self.both]
        if not self.with_fragments:
            # Behind MPLS nobody sees what is one.
            told = [[text for text in texts if 'nw_frag=no' in text
                     or not re.search('nw_frag|mpls', text)]
                    for texts in told]
        self.n_told += len(told[1])
        self.compare('packets to controllers', *told)
        if 'connections' in what:
            both = [sw.connections() for sw in self.both]
            if 'unlabelled' in what:
                both = [[re.sub(',labels=0x[0-9a-f]+', '', line)
                         for line in lines] for lines in both]
            self.compare('connections', *both)
        if 'counters' in what:
            ours, stock = self.control('bridge/dump-flows', 'br0')
            self.compare('flows', *(counted(self.comparable(text[0]))
                                    for text in (ours, stock)))
            self.compare('meters', *(
                re.sub(r' \(xid=\S+|duration:\S+', '', text).splitlines()
                for _, text, _ in self.ofctl_both(['meter-stats'])))
            # Threads tell what they counted only when some time has passed.
            if not self.ours.threads:
                self.compare('drops', *zip(*map(self.event_counter, DROPS)))
        if 'all' in what:
            # What ports count is the kernel's, which sees nothing.
            for command in 'group-stats', 'tables':
                self.compare_dump(command)

    def event_counter(self, name):
        """Since the pair was as new."""
        now = [int(text) for text, _ in self.control('coverage/read-counter',
                                                     name)]
        then = self.counted_before.get(name, (0, 0))
        return ['%s %d' % (name, n - m) for n, m in zip(now, then)]

    def restore(self):
        """Makes the pair as it was at the start."""
        self.learns(False)
        if self.sync:
            self.pipeline('none', 'packet-in')
        for port, number in self.all_ports.items():
            if self.ours.ports.get(port) != number:
                self.add_port(port, number)
        for undo in self.undo:
            undo()
        self.undo.clear()
        self.ofctl(['bundle', '-'], 'flow delete\ngroup delete\n')
        self.ofctl(['del-meters'])
        self.control('dpctl/flush-conntrack')
        self.turn()
        for sw in self.both:
            sw.sent()
            sw.packet_ins()
        self.with_fragments = self.same_bytes = True
        self.counted_before = {}
        for name in DROPS:
            self.counted_before[name] = [
                int(text)
                for text, _ in self.control('coverage/read-counter', name)]
        self.steps.clear()

    def compare(self, title, ours, stock):
        if ours != stock:
            raise Mismatch(diff(title + ' differ', ours, stock))

    def compare_dump(self, what):
        replies = self.ofctl_both(['dump-' + what])
        if replies[0][0] or replies[1][0]:
            raise RuntimeError('dump-%s: %s' % (what, replies))
        texts = [text for _, text, _ in replies]
        self.compare('dump-' + what, *(without_time(self.comparable(text))
                                       for text in texts))

    def comparable(self, text):
        """Stock counts the header of a tunnel in the bytes of the group whose
        bucket leads there, and of all flows and tunnels that the packet meets
        later; and other lengths than ours where they change."""
        if tunnels.PORT in self.ours.ports or not self.same_bytes:
            text = re.sub(r'(bytes|byte_count)=\d+', '', text)
        return text


def counted(text):
    """Flows with their counters, but for table 254: stock's own."""
    return sorted(re.sub(r'duration=\d+s, ', '', line)
                  for line in text.splitlines()
                  if not line.startswith('table_id=254,'))


def without_time(text):
    """The records of a dump: a line with those below that are indented."""
    records = []
    for line in text.splitlines()[1:]:
        line = re.sub(r'(,\s*)?duration=[\d.]+s', '', line)
        if re.match(r' {0,2}\S', line):
            records.append(line)
        elif line:
            records[-1] += line
    return sorted(record for record in records if 'LOCAL' not in record)
