#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command as systemd would by the settings of a unit that take rights
away, on machines where systemd doesn't run.

usage: sandbox.py UNIT COMMAND [ARGUMENT]...

To be started in a mount namespace of its own, as "ip netns exec" makes one.
A setting that isn't known here is an error, so that a unit can't have one that
no test has met.  Left out are KeyringMode, PrivateDevices and PrivateTmp, since
tests keep their files below /tmp, and what a setting does beside denying.
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys

import seccomp

PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
CAPABILITIES = """
    CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID
    SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW
    IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT
    SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD
    LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
    WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE
    """.split()
# Of <linux/sched.h>.
CLONE_NEW = 0x7e020080
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
AF_XDP = 44
SCHED_REALTIME = 1, 2               # SCHED_FIFO, SCHED_RR
DENIED = seccomp.ERRNO(errno.EPERM)
# What needs no right, or is for other parts of systemd than the sandbox.
OTHERS = """
    Type PIDFile Environment EnvironmentFile ExecStartPre ExecStart ExecReload
    TimeoutStartSec Restart RestartSec LimitNOFILE LimitMEMLOCK OOMScoreAdjust
    RemoveIPC RuntimeDirectory RuntimeDirectoryMode RuntimeDirectoryPreserve
    ConfigurationDirectory LogsDirectory LogsDirectoryMode KeyringMode
    PrivateDevices PrivateTmp
    """.split()
LIBC = ctypes.CDLL(None, use_errno=True)


def read_unit(path):
    """The settings of the section [Service]."""
    section, settings = None, {}
    with open(path) as f:
        for line in f:
            line = line.strip()
            if line.startswith('['):
                section = line
            elif section == '[Service]' and line and line[0] not in '#;':
                name, value = line.split('=', 1)
                settings[name] = value
    return settings


def prctl(*args):
    if LIBC.prctl(*[ctypes.c_ulong(arg) for arg in args]):
        raise OSError(ctypes.get_errno(), 'prctl')


def mount(*args):
    subprocess.run(['mount', *args], check=True)


def make_read_only(*paths):
    for path in paths:
        if os.path.isdir(path):
            mount('--rbind', path, path)
            mount('-o', 'remount,bind,ro', path)


def make_writable(paths):
    """Before what they lie in is made read-only."""
    for path in paths.split():
        if os.path.isdir(path):
            mount('--bind', path, path)


class Sandbox:
    def __init__(self, settings):
        self.settings = dict(settings)
        self.filter = seccomp.SyscallFilter(seccomp.ALLOW)
        self.allowed = None
        self.keeps = None

    def take(self, name, *values):
        """The value of a setting, which must be one of 'values' if there are
        some; None if the unit hasn't it."""
        value = self.settings.pop(name, None)
        if value is not None and values and value not in values:
            sys.exit('sandbox: %s=%s: not known' % (name, value))
        return value

    def deny(self, *names, arg=None):
        for name in names:
            self.filter.add_rule(DENIED, name, *([arg] if arg else []))

    def limit_files(self):
        writable = self.take('ReadWritePaths')
        if writable:
            make_writable(writable)
        if self.take('ProtectSystem', 'full'):
            make_read_only('/usr', '/boot', '/efi', '/etc')
        if self.take('ProtectHome', 'read-only'):
            make_read_only('/home', '/root', '/run/user')
        if self.take('ProtectControlGroups', 'yes'):
            make_read_only('/sys/fs/cgroup')
        if self.take('ProtectKernelTunables', 'yes'):
            make_read_only('/proc/sys', '/sys')

    def limit_kernel(self):
        if self.take('ProtectKernelLogs', 'yes'):
            self.deny('syslog')
        if self.take('ProtectKernelModules', 'yes'):
            self.deny('init_module', 'finit_module', 'delete_module')
        if self.take('ProtectHostname', 'yes'):
            self.deny('sethostname', 'setdomainname')
        if self.take('ProtectClock', 'yes'):
            self.deny('clock_settime', 'settimeofday', 'adjtimex')
        if self.take('RestrictNamespaces', 'yes'):
            self.deny('unshare', 'setns')
            # Each of them, as a mask must be equal.
            for bit in range(32):
                if CLONE_NEW >> bit & 1:
                    self.deny('clone', arg=seccomp.Arg(
                        0, seccomp.MASKED_EQ, 1 << bit, 1 << bit))
        if self.take('RestrictRealtime', 'yes'):
            for policy in SCHED_REALTIME:
                self.deny('sched_setscheduler',
                          arg=seccomp.Arg(1, seccomp.EQ, policy))
        if self.take('RestrictSUIDSGID', 'yes'):
            for call, at in ('chmod', 1), ('fchmod', 1), ('fchmodat', 2):
                for bit in 0o4000, 0o2000:
                    self.deny(call, arg=seccomp.Arg(at, seccomp.MASKED_EQ,
                                                    bit, bit))
        if self.take('LockPersonality', 'yes'):
            self.deny('personality')

    def limit_memory(self):
        if not self.take('MemoryDenyWriteExecute', 'yes'):
            return
        both = PROT_WRITE | PROT_EXEC
        self.deny('mmap', arg=seccomp.Arg(2, seccomp.MASKED_EQ, both, both))
        for call in 'mprotect', 'pkey_mprotect':
            self.deny(call, arg=seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC,
                                            PROT_EXEC))
        self.deny('shmat', arg=seccomp.Arg(2, seccomp.MASKED_EQ, SHM_EXEC,
                                           SHM_EXEC))

    def limit_sockets(self):
        families = self.take('RestrictAddressFamilies')
        if families is None:
            return
        known = [AF_XDP if name == 'AF_XDP' else getattr(socket, name)
                 for name in families.split()]
        for family in range(64):
            if family not in known:
                self.deny('socket', arg=seccomp.Arg(0, seccomp.EQ, family))

    def limit_calls(self):
        """Calls that aren't listed are denied: that is the last filter, for
        they can't have rules of their own beside."""
        self.take('SystemCallArchitectures', 'native')
        self.take('SystemCallErrorNumber', 'EPERM')
        names = self.take('SystemCallFilter')
        if names is None:
            return
        allowed = seccomp.SyscallFilter(DENIED)
        for name in expand(['@default'] + names.split(), call_sets()):
            try:
                allowed.add_rule(seccomp.ALLOW, name)
            except RuntimeError:
                pass                # Not of this architecture.
        # To be able to begin.
        allowed.add_rule(seccomp.ALLOW, 'seccomp')
        allowed.add_rule(seccomp.ALLOW, 'prctl')
        self.allowed = allowed

    def limit_rights(self):
        keeps = self.take('CapabilityBoundingSet')
        if keeps is not None:
            self.keeps = [CAPABILITIES.index(name.removeprefix('CAP_'))
                          for name in keeps.split()]
        umask = self.take('UMask')
        if umask is not None:
            os.umask(int(umask, 8))
        if self.take('NoNewPrivileges', 'yes'):
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

    def enter(self):
        self.limit_files()
        self.limit_kernel()
        self.limit_memory()
        self.limit_sockets()
        self.limit_calls()
        self.limit_rights()
        for name in OTHERS:
            self.take(name)
        if self.settings:
            sys.exit('sandbox: %s: not known' % ', '.join(self.settings))
        self.filter.load()
        if self.allowed:
            self.allowed.load()
        if self.keeps is not None:
            with open('/proc/sys/kernel/cap_last_cap') as f:
                last = int(f.read())
            for number in range(last + 1):
                if number not in self.keeps:
                    prctl(PR_CAPBSET_DROP, number, 0, 0, 0)


def call_sets():
    """The members of systemd's sets of calls, which begin with "@"."""
    shown = subprocess.run(['systemd-analyze', '--no-pager', 'syscall-filter'],
                           check=True, capture_output=True, text=True).stdout
    sets, members = {}, None
    for line in shown.splitlines():
        if line.startswith('@'):
            members = sets[line.strip()] = []
        elif not line.strip():
            members = None
        elif members is not None and line.strip()[0] != '#':
            members.append(line.strip())
    return sets


def expand(names, sets):
    calls = set()
    for name in names:
        calls |= expand(sets[name], sets) if name in sets else {name}
    return calls


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    Sandbox(read_unit(sys.argv[1])).enter()
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    main()
