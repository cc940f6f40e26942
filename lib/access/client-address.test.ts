import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { processorTime } from '#lib/testing/processor-time.ts'
import { clientAddress, trustedProxies } from './client-address.ts'

const nobody = trustedProxies('')
const proxies = trustedProxies('10.0.0.0/8, 192.0.2.7, fd00::/8 ,2001:db8:ffff::1')

describe('clientAddress', () => {
  test.each<[string, string | undefined, string | null, string]>([
    ['nothing forwarded', '203.0.113.9', null, '203.0.113.9'],
    ['IPv4 inside IPv6', '::ffff:203.0.113.9', null, '203.0.113.9'],
    ['the same in hexadecimal', '::ffff:cb00:7109', null, '203.0.113.9'],
    ['IPv6 in another spelling', '2001:0DB8:0:0:0:0:0:1', null, '2001:db8::1'],
    ['a zone', 'fe80::1%eth0', null, 'fe80::1'],
    ['no socket', undefined, '198.51.100.1', 'unknown'],
    ['an empty socket address', '', '10.0.0.1', 'unknown'],
    ['one proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy written as IPv6', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 192.0.2.7', '198.51.100.1'],
    ['an IPv6 proxy', 'fd12::5', '2001:db8::42', '2001:db8::42'],
    ['a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['brackets', '10.0.0.1', '[2001:db8::42]', '2001:db8::42'],
    ['brackets and a port', '10.0.0.1', '[2001:db8::42]:443', '2001:db8::42'],
    ['IPv4 inside IPv6, forwarded', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['nothing in the header', '10.0.0.1', '', '10.0.0.1'],
    ['garbage at the end', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['garbage in the middle', '10.0.0.1', '198.51.100.1, <script>, 192.0.2.7', '192.0.2.7'],
    ['a leading zero', '10.0.0.1', '198.51.100.01', '10.0.0.1'],
    ['half a bracket', '10.0.0.1', '[2001:db8::42', '10.0.0.1'],
  ])('returns the client address for %s', (_, socket, forwarded, client) => {
    expect(clientAddress(socket, forwarded, proxies)).toBe(client)
  })

  test('ignores the header when no proxies are trusted', () => {
    expect(clientAddress('203.0.113.9', '198.51.100.1', nobody)).toBe('203.0.113.9')
    expect(clientAddress('127.0.0.1', '198.51.100.1', nobody)).toBe('127.0.0.1')
  })

  test('ignores the header of a client that is not a proxy', () => {
    expect(clientAddress('203.0.113.9', '198.51.100.1', proxies)).toBe('203.0.113.9')
    expect(clientAddress('203.0.113.9', '198.51.100.1, 10.0.0.1', proxies)).toBe('203.0.113.9')
  })

  test('returns the address that the proxy appended, whatever the client wrote', () => {
    const written = fc.oneof(
      fc.string(),
      fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant('10.0.0.9'))).map((list) => list.join(', ')),
    )
    fc.assert(
      fc.property(written, (forged) => {
        expect(clientAddress('10.0.0.1', `${forged}, 203.0.113.9`, proxies)).toBe('203.0.113.9')
        expect(clientAddress('10.0.0.1', `${forged}, 203.0.113.9, 192.0.2.7`, proxies)).toBe('203.0.113.9')
      }),
    )
  })

  test.each([
    ['addresses', (bytes: number) => '10.0.0.1,'.repeat(bytes / 9)],
    ['colons', (bytes: number) => `[${':'.repeat(bytes)}`],
  ])('processor time grows linearly with a header of %s up to 64 KiB', (_what, make) => {
    const work = (header: string) => processorTime(() => clientAddress('10.0.0.1', header, proxies))
    // Four times the text takes 4 times the work if growth is linear, and 16 times if it is quadratic.
    const growth = () => work(make(64 * 1024)) / Math.max(work(make(16 * 1024)), 20_000)
    const seen = Array.from({ length: 3 }, growth)
    expect(Math.min(...seen)).toBeLessThan(9)
  })
})

describe('trustedProxies', () => {
  test.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['0.0.0.0/0', '198.51.100.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:db8::/32', '2001:db8:1::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['::1', '::1', true],
    ['::ffff:10.0.0.0/104', '10.200.0.1', true],
    ['::ffff:10.0.0.0/104', '11.0.0.1', false],
    ['::ffff:192.0.2.7', '192.0.2.7', true],
    [' , ', '127.0.0.1', false],
    ['', 'unknown', false],
    ['0.0.0.0/0, ::/0', 'unknown', false],
  ])('for %s, has(%s) returns %s', (list, address, has) => {
    expect(trustedProxies(list).has(address)).toBe(has)
  })

  test.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0',
    'proxy.internal',
    '2001:db8::/129',
    '*',
    'fe80::1%eth0',
    '::ffff:10.0.0.0/90',
    '/8',
    '10.0.0.0/1e1',
  ])('rejects %s and names it', (item) => {
    expect(() => trustedProxies(`127.0.0.1, ${item}`)).toThrow(`"${item}"`)
  })
})
