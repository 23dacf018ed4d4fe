# SPDX-License-Identifier: Apache-2.0
"""The node's flows, groups and addresses as they would be with IPv6 in the place
of IPv4: in conntrack's zones for that, with endpoints in xxreg3.  Underlays stay."""

import ipaddress
import re

PREFIX = 0xfd00 << 112
PROTOCOLS = {'ip': 'ipv6', 'tcp': 'tcp6', 'udp': 'udp6'}
ADDRESS = r'([0-9.]+)'
NAMES = {'NXM_OF_IP_DST[]': 'NXM_NX_IPV6_DST[]',
         'NXM_OF_IP_SRC[]': 'NXM_NX_IPV6_SRC[]',
         'NXM_NX_REG3[]': 'NXM_NX_XXREG3[]', 'eth_type=0x800': 'eth_type=0x86dd',
         'zone=65520': 'zone=65510', 'zone=65521': 'zone=65511'}


def address(ip):
    return str(ipaddress.IPv6Address(PREFIX | int(ipaddress.IPv4Address(ip))))


def number(text):
    """An address as a register has it."""
    return '0x%x' % (PREFIX | int(text, 16))


def field(text, endpoint):
    """A field of a match.  'endpoint': reg3 is an address."""
    name, _, value = text.partition('=')
    if name in ('nw_src', 'nw_dst'):
        ip, _, length = value.partition('/')
        value = address(ip) + ('/%d' % (96 + int(length)) if length else '')
        return 'ipv6%s=%s' % (name[2:], value)
    if name == 'reg3' and endpoint:
        return 'xxreg3=' + number(value)
    return PROTOCOLS.get(text, text)


def match(text, endpoint=False):
    return ','.join(field(word, endpoint) for word in text.split(','))


def actions(text, endpoint=False):
    for name, other in NAMES.items():
        text = text.replace(name, other)
    text = re.sub(r'nat\((src|dst)=%s:' % ADDRESS,
                  lambda m: 'nat(%s=[%s]:' % (m[1], address(m[2])), text)
    text = re.sub(r'nat\((src|dst)=%s\)' % ADDRESS,
                  lambda m: 'nat(%s=%s)' % (m[1], address(m[2])), text)
    if endpoint:
        text = re.sub(r'set_field:(0x[0-9a-f]+)->reg3\b',
                      lambda m: 'set_field:%s->xxreg3' % number(m[1]), text)
    return text
