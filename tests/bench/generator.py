# SPDX-License-Identifier: Apache-2.0
"""Control of the net_gen ports; netgen/control.h says what the words mean."""

import ctypes
import mmap
import os
import time

import frames

N_SLOTS = 128
N_TEMPLATES = 1024
TEMPLATE_LEN = 252
LINE = 64
N_HISTORY = 4000
N_GAPS = 1024
HISTORY_MS = 10
SINK, GENERATE, ECHO = range(3)
RANDOM_SPORT, RANDOM_DPORT, RANDOM_SADDR = 1, 2, 4


class Template(ctypes.Structure):
    _fields_ = [('len', ctypes.c_uint16), ('l4_ofs', ctypes.c_uint16),
                ('bytes', ctypes.c_uint8 * TEMPLATE_LEN)]


class Gap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64)
                for name in ('from_ns', 'to_ns', 'n_missed', 'period')]


class Slot(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_uint32)
         for name in ('mode', 'epoch', 'run', 'n_templates')]
        + [(name, ctypes.c_uint64) for name in ('count', 'rate')]
        + [(name, ctypes.c_uint32) for name in (
            'sport_base', 'n_sports', 'share', 'n_dports', 'random',
            'checksum_good', 'backlog', 'record', 'probe', 'stride')]
        + [(name, ctypes.c_uint64) for name in (
            'rx', 'tx', 'tx_bytes', 'missed', 'missed_away', 'echo_dropped',
            'no_mbuf', 'done', 'last_tx_ns', 'probe_alu_cycles',
            'probe_memory_cycles', 'longest_gap_ns', 'n_gaps', 'n_history')]
        + [('history', ctypes.c_uint64 * N_HISTORY),
           ('gaps', Gap * N_GAPS), ('pad', ctypes.c_uint8 * 8),
           ('templates', Template * N_TEMPLATES)])

    def set_templates(self, packets):
        """As close to each other as whole cache lines permit."""
        header = ctypes.sizeof(Template) - TEMPLATE_LEN
        kept = [packet[:TEMPLATE_LEN] for packet in packets]
        longest = header + max(len(packet) for packet in kept)
        self.stride = (longest + LINE - 1) // LINE * LINE
        first = ctypes.addressof(self.templates)
        for i, packet in enumerate(kept):
            t = Template.from_address(first + i * self.stride)
            t.len, t.l4_ofs = len(packets[i]), frames.l4_ofs(packet)
            ctypes.memmove(t.bytes, packet, len(packet))
        self.n_templates = len(packets)


SLOT_LEN = (ctypes.sizeof(Slot) + 4095) // 4096 * 4096
COUNTERS = ('rx', 'tx', 'missed', 'missed_away', 'echo_dropped', 'no_mbuf')


class Generator:
    """All ports of one switch, by slot."""

    def __init__(self, path):
        self.path = path
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, N_SLOTS * SLOT_LEN)
        self.map = mmap.mmap(fd, N_SLOTS * SLOT_LEN)
        os.close(fd)
        self.slots = [Slot.from_buffer(self.map, i * SLOT_LEN)
                      for i in range(N_SLOTS)]

    def __getitem__(self, slot):
        return self.slots[slot]

    def close(self):
        self.slots = None
        self.map.close()

    def set_mode(self, mode, *slots):
        for slot in slots:
            self.slots[slot].mode = mode

    def program(self, slot, packets, sports=(0, 0), share=1, n_dports=0,
                random=0, count=0, rate=0, backlog=2048):
        """Has 'slot' send 'packets' in turn from when it is started, with
        'sports' as first source port and number of them."""
        if len(packets) > N_TEMPLATES:
            raise ValueError('%d templates' % len(packets))
        s = self.slots[slot]
        s.run = 0
        time.sleep(0.002)               # Until the last burst is out.
        s.set_templates(packets)
        s.count, s.rate = count, rate
        s.sport_base, s.n_sports = sports
        s.share, s.n_dports, s.random, s.backlog = (share, n_dports, random,
                                                    backlog)
        s.mode, s.done = GENERATE, 0
        s.epoch += 1

    def start(self, *slots):
        for slot in slots:
            self.slots[slot].run = 1

    def stop(self):
        for s in self.slots:
            s.run = 0

    def wait(self, slots, timeout):
        """Until all of 'slots' have sent the count they had to."""
        deadline = time.monotonic() + timeout
        while not all(self.slots[slot].done for slot in slots):
            if time.monotonic() > deadline:
                raise RuntimeError('the generator did not finish in %d s'
                                   % timeout)
            time.sleep(0.01)

    def counters(self, slots):
        """Slot -> counter -> value."""
        return {slot: {name: getattr(self.slots[slot], name)
                       for name in COUNTERS} for slot in slots}

    def longest_gap(self, slots):
        """Nanoseconds, since that was asked for last."""
        longest = max(self.slots[slot].longest_gap_ns for slot in slots)
        for slot in slots:
            self.slots[slot].longest_gap_ns = 0
        return longest

    def gaps(self, slot, first):
        """(begun, ended, packets missed, period), by time.monotonic(), of
        those from number 'first' on that are still known."""
        s = self.slots[slot]
        return [(gap.from_ns / 1e9, gap.to_ns / 1e9, gap.n_missed, gap.period)
                for gap in (s.gaps[i % N_GAPS] for i in
                            range(max(first, s.n_gaps - N_GAPS), s.n_gaps))]

    def record(self, slot, on):
        s = self.slots[slot]
        s.record = 0
        if on:
            s.n_history = s.last_tx_ns = 0
            s.record = 1

    def history(self, slot):
        """Packets received by every tenth millisecond since record()."""
        s = self.slots[slot]
        return s.history[:s.n_history]

    def probe(self, slot):
        """Cycles per multiplication and per load that misses the caches, in
        the thread that polls 'slot'."""
        s = self.slots[slot]
        s.probe = 1
        deadline = time.monotonic() + 30
        while s.probe:
            if time.monotonic() > deadline:
                raise RuntimeError('port %d is not polled' % slot)
            time.sleep(0.002)
        return s.probe_alu_cycles / 1e6, s.probe_memory_cycles / 2e4
