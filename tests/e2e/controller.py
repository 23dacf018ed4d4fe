# SPDX-License-Identifier: Apache-2.0
"""A controller's connection to a bridge, made with os-ken: its handshake, its
echoes, its messages.  It connects to the bridge's management socket, as Antrea's
agent does.

    connection = Connection('br-int.mgmt')
    replies = connection.request(parser.OFPGroupDescStatsRequest(connection))
    errors = connection.do(parser.OFPFlowMod(connection, ...))
    errors = connection.bundle([message, ...])
    message = connection.take(is_packet_in)

What os-ken has no words for, or doesn't read as OpenFlow 1.5 has it, is made and
read here as bytes: buckets of a group (os-ken takes a bucket's successors for its
properties), errors (its own log of an experimenter's ends the connection), Nicira's
TLV tables, resumption of a packet."""

import logging
import os
import struct
import sys

from eventlet.green import socket
from os_ken.base import app_manager
from os_ken.controller import controller, ofp_handler
from os_ken.controller.handler import MAIN_DISPATCHER
from os_ken.lib import hub
from os_ken.ofproto import nicira_ext, ofproto_common, ofproto_parser
from os_ken.ofproto import ofproto_v1_5 as ofp
from os_ken.ofproto import ofproto_v1_5_parser as parser

TIMEOUT = 60 * float(os.environ.get('ADP_E2E_SLOW', 1))
CHUNK = 1 << 18
NXT_TLV_TABLE_MOD, NXT_TLV_TABLE_REQUEST, NXT_TLV_TABLE_REPLY = 24, 25, 26
NXT_RESUME = 28


class Raw:
    """A message as it came."""

    def __init__(self, datapath, msg_type, xid, buf):
        self.datapath = datapath
        self.msg_type = msg_type
        self.xid = xid
        self.buf = bytes(buf)
        if msg_type == ofp.OFPT_MULTIPART_REPLY:
            self.type, self.flags = struct.unpack_from('!HH', buf, 8)
        elif msg_type == ofp.OFPT_ERROR:
            self.type, self.code = struct.unpack_from('!HH', buf, 8)
            self.data = self.buf[12:]


RAW_PARTS = ofp.OFPMP_GROUP_DESC, ofp.OFPMP_TABLE_FEATURES


def parse(datapath, version, msg_type, msg_len, xid, buf,
          by_os_ken=ofproto_parser.msg):
    msg = None
    if msg_type != ofp.OFPT_ERROR and (
            msg_type != ofp.OFPT_MULTIPART_REPLY
            or struct.unpack_from('!H', buf, 8)[0] not in RAW_PARTS):
        msg = by_os_ken(datapath, version, msg_type, msg_len, xid, buf)
    if not msg:
        datapath.came(Raw(datapath, msg_type, xid, buf))
    return msg


controller.ofproto_parser.msg = parse


class Handler(ofp_handler.OFPHandler):
    """What os-ken itself answers.  It listens nowhere."""

    def start(self):
        return app_manager.OSKenApp.start(self)

    def send_event_to_observers(self, ev, state=None):
        msg = getattr(ev, 'msg', None)
        if msg:
            msg.datapath.came(msg)


class UnixSocket:
    """A socket that has no use for the options of TCP."""

    def __init__(self, path):
        """A daemon that has just started has no bridge yet."""
        with hub.Timeout(TIMEOUT, RuntimeError('%s: nobody listens' % path)):
            while True:
                try:
                    self.socket = socket.socket(socket.AF_UNIX)
                    self.socket.connect(path)
                    break
                except OSError:
                    self.socket.close()
                    hub.sleep(0.05)

    def setsockopt(self, *args):
        pass

    def __getattr__(self, name):
        return getattr(self.socket, name)


def start():
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # What it can't read of what a switch says comes as Raw.
    logging.getLogger('os_ken.ofproto.ofproto_parser').setLevel(
        logging.CRITICAL)
    handler = Handler()
    app_manager.register_app(handler)
    handler.start()


def experimenter(connection, kind, body=b''):
    """A message of Nicira's."""
    return parser.OFPExperimenter(connection,
                                  ofproto_common.NX_EXPERIMENTER_ID, kind,
                                  body)


def is_reply(msg, xid):
    return msg.xid == xid and msg.msg_type != ofp.OFPT_ERROR


def is_error(msg):
    return msg.msg_type == ofp.OFPT_ERROR


def is_packet_in(msg):
    return msg.msg_type == ofp.OFPT_EXPERIMENTER \
        and msg.exp_type == nicira_ext.NXT_PACKET_IN2


def is_flow_removed(msg):
    return msg.msg_type == ofp.OFPT_FLOW_REMOVED


class Connection(controller.Datapath):
    def __init__(self, path):
        self.inbox = []
        self.something = hub.Event()
        super().__init__(UnixSocket(path), path)
        self.socket.settimeout(TIMEOUT)
        self.xid = 1 << 30                  # No transaction of the switch's.
        self.n_bundles = 0
        self.server = hub.spawn(self.serve)
        with hub.Timeout(TIMEOUT, RuntimeError('no handshake')):
            while self.state != MAIN_DISPATCHER:
                hub.sleep(0.01)
        # Nobody asked for what the handshake brought.
        self.inbox.clear()

    def came(self, msg):
        self.inbox.append(msg)
        self.something.set()

    def take(self, wanted, what='message'):
        """The first that is wanted; waits for it."""
        with hub.Timeout(TIMEOUT, RuntimeError('no %s came' % what)):
            while True:
                for i, msg in enumerate(self.inbox):
                    if wanted(msg):
                        return self.inbox.pop(i)
                if not self.is_active:
                    raise RuntimeError('the switch closed its connection')
                self.something.clear()
                self.something.wait()

    def take_all(self, wanted):
        """Those that are there."""
        taken = [msg for msg in self.inbox if wanted(msg)]
        self.inbox = [msg for msg in self.inbox if not wanted(msg)]
        return taken

    def request(self, msg):
        """All parts of the reply, or the error."""
        self.send_msg(msg)
        parts = []
        while True:
            parts.append(self.take(lambda m: m.xid == msg.xid,
                                   'reply to %s' % type(msg).__name__))
            if parts[-1].msg_type != ofp.OFPT_MULTIPART_REPLY \
                    or not parts[-1].flags & ofp.OFPMPF_REPLY_MORE:
                return parts

    def barrier(self):
        self.request(parser.OFPBarrierRequest(self))

    def do(self, *messages):
        """What can't be done about these messages: the errors."""
        for msg in messages:
            self.send_msg(msg)
        self.barrier()
        return self.take_all(is_error)

    def must(self, *messages):
        errors = self.do(*messages)
        if errors:
            raise RuntimeError('refused: %s' % [(e.type, e.code)
                                                for e in errors])

    # --- bundles ------------------------------------------------------------

    def control(self, bundle_id, kind, flags):
        """Returns an error or None."""
        reply, = self.request(parser.OFPBundleCtrlMsg(
            self, bundle_id, kind, flags, []))
        return reply if is_error(reply) else None

    def open(self, flags=ofp.OFPBF_ATOMIC | ofp.OFPBF_ORDERED):
        self.n_bundles += 1
        error = self.control(self.n_bundles, ofp.OFPBCT_OPEN_REQUEST, flags)
        if error:
            raise RuntimeError('no bundle: %d/%d' % (error.type, error.code))
        return self.n_bundles, flags

    def add(self, bundle, messages):
        """Messages are os-ken's, or bytes."""
        bundle_id, flags = bundle
        chunk = bytearray()
        for msg in messages:
            if not isinstance(msg, (bytes, bytearray)):
                self.set_xid(msg)
                msg.serialize()
                msg = msg.buf
            xid = msg[4:8]
            chunk += struct.pack('!BBH', ofp.OFP_VERSION,
                                 ofp.OFPT_BUNDLE_ADD_MESSAGE, 16 + len(msg))
            chunk += xid + struct.pack('!IHH', bundle_id, 0, flags) + msg
            if len(chunk) > CHUNK:
                self.send(chunk)
                chunk = bytearray()
        if chunk:
            self.send(chunk)

    def commit(self, bundle):
        """Returns the errors of what was added, and the commitment's."""
        bundle_id, flags = bundle
        errors = [self.control(bundle_id, ofp.OFPBCT_CLOSE_REQUEST, flags),
                  self.control(bundle_id, ofp.OFPBCT_COMMIT_REQUEST, flags)]
        return self.take_all(is_error) + [e for e in errors if e]

    def bundle(self, messages, flags=ofp.OFPBF_ATOMIC | ofp.OFPBF_ORDERED):
        bundle = self.open(flags)
        self.add(bundle, messages)
        return self.commit(bundle)

    # --- what an agent says first -------------------------------------------

    def introduce(self, controller_id=0):
        """As Antrea's agent does when it has shaken hands."""
        self.request(experimenter(self, NXT_TLV_TABLE_REQUEST))
        self.must(
            parser.OFPSetConfig(self, ofp.OFPC_FRAG_NORMAL, 128),
            experimenter(self, nicira_ext.NXT_SET_CONTROLLER_ID,
                         struct.pack('!6xH', controller_id)),
            parser.NXTSetPacketInFormatMsg(self, 2))

    def close(self):
        """Ends it at once, as a process that is killed does."""
        hub.kill(self.server)
        self.socket.close()


# --- messages ----------------------------------------------------------------

def flow(connection, actions=(), command=ofp.OFPFC_ADD, goto=None, **fields):
    """A flow mod; what isn't one of its own fields is of its match."""
    own = {key: fields.pop(key) for key in (
        'cookie', 'cookie_mask', 'table_id', 'idle_timeout', 'hard_timeout',
        'priority', 'flags', 'importance', 'out_port', 'out_group',
        'buffer_id') if key in fields}
    own.setdefault('out_port', ofp.OFPP_ANY)
    own.setdefault('out_group', ofp.OFPG_ANY)
    instructions = []
    if actions:
        instructions.append(parser.OFPInstructionActions(
            ofp.OFPIT_APPLY_ACTIONS, list(actions)))
    if goto is not None:
        instructions.append(parser.OFPInstructionGotoTable(goto))
    return parser.OFPFlowMod(connection, command=command,
                             match=parser.OFPMatch(**fields),
                             instructions=instructions, **own)


def bucket(bucket_id, actions, weight=100):
    properties = [] if weight is None else [
        parser.OFPGroupBucketPropWeight(
            weight=weight, length=8, type_=ofp.OFPGBPT_WEIGHT)]
    return parser.OFPBucket(bucket_id, list(actions), properties)


def group(connection, group_id, buckets=(), command=ofp.OFPGC_ADD,
          kind=ofp.OFPGT_SELECT, command_bucket_id=ofp.OFPG_BUCKET_ALL):
    return parser.OFPGroupMod(connection, command, kind, group_id,
                              command_bucket_id, list(buckets), [])


def meter(connection, meter_id, rate, command=ofp.OFPMC_ADD,
          flags=ofp.OFPMF_PKTPS | ofp.OFPMF_BURST | ofp.OFPMF_STATS):
    return parser.OFPMeterMod(connection, command, flags, meter_id,
                              [parser.OFPMeterBandDrop(rate, 2 * rate)])


def to_controller(controller_id=0, userdata=None, pause=False, reason=0,
                  max_len=128):
    """The action that makes a packet-in of Nicira's second kind."""
    properties = {'max_len': max_len, 'controller_id': controller_id,
                  'reason': reason}
    if userdata is not None:
        properties['userdata'] = userdata
    if pause:
        properties['pause'] = True
    return parser.NXActionController2(**properties)


def resume(connection, packet_in):
    """Sends a packet on that waits; the properties are those that came."""
    return experimenter(connection, NXT_RESUME, bytes(packet_in.buf[16:]))


def tlv_map(connection, command, maps=()):
    """Each of MAPS is class, type, length, index."""
    return experimenter(connection, NXT_TLV_TABLE_MOD, struct.pack(
        '!H6x', command) + b''.join(struct.pack('!HBBHxx', *m) for m in maps))
