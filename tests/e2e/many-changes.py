#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes as fast as the daemon takes them.

    many-changes.py records SOCKET CLIENT ROUNDS
    many-changes.py state CLIENT ROUNDS

"records": ROUNDS transactions, sent without waiting for their answers, of which each
moves one of this client's groups of addresses, which a policy lets in.  Prints the
generation of the last one.  The last state is what state_of() says."""

import json
import sys

from rpc import Client

GROUPS, AHEAD = 20, 64


def address(client, number):
    return '10.%d.%d.%d' % (20 + client, number >> 8 & 255, number & 255)


def group(client, number):
    """The client's change 'number'."""
    return {'kind': 'AddressGroup',
            'name': 'client%d-%d' % (client, number % GROUPS),
            'addresses': [address(client, number)]}


def policy(client):
    return {'kind': 'NetworkPolicy',
            'name': 'K8sNetworkPolicy:d/client%d' % client,
            'type': 'K8sNetworkPolicy', 'appliedToGroups': ['changes'],
            'rules': [{'direction': 'In', 'from': {'addressGroups': [
                'client%d-%d' % (client, i) for i in range(GROUPS)]},
                       'services': [{'protocol': 'TCP', 'port': 80}]}]}


def result(reply):
    value, error = reply
    if error:
        sys.exit(error['message'])
    return value


def change(path, number, rounds):
    client = Client(path, 120)
    result(client.call('apply', records=[
        group(number, i) for i in range(GROUPS)] + [policy(number)]))
    generation, sent = 0, GROUPS
    for received in range(GROUPS, rounds):
        while sent < min(rounds, received + AHEAD):
            client.send('apply', records=[group(number, sent)])
            sent += 1
        generation = result(client.reply())['generation']
    print(generation)


def main():
    if sys.argv[1] == 'records':
        change(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    for name, value in sorted(state_of(*map(int, sys.argv[2:4])).items()):
        print(name, value)


def state_of(client, rounds):
    """What there is in the end, by group."""
    return {group(client, n)['name']: address(client, n)
            for n in range(rounds)}


if __name__ == '__main__':
    main()
