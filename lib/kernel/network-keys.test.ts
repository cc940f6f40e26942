import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientNetworkOf, customerNetworkOf, limitKeyOf, widerWindow } from './network-keys.ts'

describe('limitKeyOf', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::1:0:0:1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::192.0.2.1', '0:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['unknown', 'unknown'],
  ])('returns for %s the key %s', (address, key) => {
    expect(limitKeyOf(address)).toBe(key)
  })

  test('returns the same key within a /64 and different keys for different /64 networks', () => {
    const half = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 4, maxLength: 4 }) // with zeros it could be a mapped IPv4 address
    const text = (groups: number[]) => groups.map((group) => group.toString(16)).join(':')
    fc.assert(
      fc.property(half, half, half, half, (net, host, otherNet, otherHost) => {
        const key = limitKeyOf(`${text(net)}:${text(host)}`)
        expect(limitKeyOf(`${text(net)}:${text(otherHost)}`)).toBe(key)
        if (text(net) !== text(otherNet)) expect(limitKeyOf(`${text(otherNet)}:${text(host)}`)).not.toBe(key)
      }),
    )
  })
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.255', '192.0.2.255'],
  ['::ffff:192.0.2.9', '192.0.2.9'],
  ['2001:db8::1', '2001:db8:0::/48'],
  ['2001:db8:0:0:ffff::1', '2001:db8:0::/48'],
  ['2001:DB8:0:1::1', '2001:db8:0::/48'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
  ['::1', '0:0:0::/48'],
  ['::ffff:c000:209', '192.0.2.9'],
  ['unknown', 'unknown'],
])('clientNetworkOf(%s) returns %s', (address, network) => {
  expect(clientNetworkOf(address)).toBe(network)
})

test.each([
  ['192.0.2.7', '192.0.2.0/24'],
  ['::ffff:192.0.2.9', '192.0.2.0/24'],
  ['2001:db8:1:2::1', '2001:db8:1::/48'],
  ['unknown', 'unknown'],
])('customerNetworkOf(%s) returns %s', (address, network) => {
  expect(customerNetworkOf(address)).toBe(network)
})

test.each([
  ['sign-in:2001:db8:1:2::/64', { key: 'sign-in:2001:db8:1::/48', limit: 80 }],
  ['sign-in:who:0:0:0:0::/64', { key: 'sign-in:who:0:0:0::/48', limit: 80 }],
  ['sign-in:192.0.2.7', undefined],
  ['sign-in:unknown', undefined],
])('widerWindow of %s with the limit 5 returns %o', (key, wider) => {
  expect(widerWindow({ key, limit: 5 })).toEqual(wider)
})
