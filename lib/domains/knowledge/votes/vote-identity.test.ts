import { expect, it } from 'vitest'
import { networkOf } from './vote-identity.ts'

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.255', '192.0.2.255'],
  ['::ffff:192.0.2.9', '192.0.2.9'],
  ['2001:db8::1', '2001:db8:0::/48'],
  ['2001:db8:0:0:ffff::1', '2001:db8:0::/48'],
  ['2001:DB8:0:1::1', '2001:db8:0::/48'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
  ['::1', '0:0:0::/48'],
  ['unknown', 'unknown'],
])('networkOf(%s) returns %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
