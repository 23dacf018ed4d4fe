# SPDX-License-Identifier: Apache-2.0
"""The order in which packets of one connection leave.

Stock hands on a batch in groups of packets that are cached alike, so packets of
one connection may leave in another order than they came, if the first of it
are still new to conntrack, say.  What counts as right is stock's order, and
that in which the packets came; where ours left packets to stock, first come
those that it didn't, in their order, and then the others, in stock's."""

import packets
import tunnels


def connection(packet):
    """Equal for all packets of a connection, in either direction."""
    return packet.proto, frozenset([
        (packet.src, packet.sport), (packet.dst, packet.dport)])


def outer(frame):
    """The headers of the tunnel that a frame came through.  Packets of a
    connection that have others part company in the underlay, already."""
    if tunnels.unwrap(frame) is frame:
        return None
    packet = packets.parse(frame)
    return packet.src, packet.sport, packet.tos


def sequences(sent, came):
    """(port, connection, how it came) -> its frames, in order.  'came' is
    how packets came, by their tag."""
    found = {}
    for port, frame in sent:
        packet = packets.parse(tunnels.unwrap(frame))
        # A fragment of a datagram has no ports, or nobody's.
        if packet and not packet.frag & 0x3fff:
            key = port, connection(packet), came.get(packet.tag)
            found.setdefault(key, []).append((packet.tag, frame))
    return found


def arrival(frames):
    """Tag -> place in the batch, and tag -> outer headers."""
    places, came = {}, {}
    for place, frame in enumerate(frames):
        packet = packets.parse(tunnels.unwrap(frame))
        if packet:
            places[packet.tag], came[packet.tag] = place, outer(frame)
    return places, came


def matters(frames):
    """True if packets of the batch are of one connection, perhaps."""
    seen = set()
    for frame in frames:
        packet = packets.parse(tunnels.unwrap(frame))
        addresses = packet and frozenset([packet.src, packet.dst])
        if addresses and addresses in seen:
            return True
        seen.add(addresses)
    return False


def is_right(order, n_punted):
    """True if packets that came in these places (some, perhaps, leave several
    times) may leave in this order, if ours left 'n_punted' to stock."""
    for n in range(len(order) + 1):
        first, others = order[:n], set(order[n:])
        if first == sorted(first) and len(others) <= n_punted \
                and (not first or not others or min(others) > first[-1]):
            return True
    return False


def disorder(frames, ours, stock, n_punted):
    """What was sent for the batch 'frames': for a connection whose packets
    are in a wrong order, its port and the places in the batch of what ours
    sent and of what stock sent; or None.  Both sent the same frames, and
    'n_punted' of the batch ours left to stock."""
    places, came = arrival(frames)
    expected = sequences(stock, came)
    for key, got in sequences(ours, came).items():
        if got == expected.get(key):
            continue
        order = [places.get(tag, -1) for tag, _ in got]
        if not is_right(order, n_punted):
            return key[0], order, [places.get(tag, -1)
                                   for tag, _ in expected.get(key, [])]
    return None
