import { describe, expect, it } from 'vitest'
import { areHeartbeatsOver, type ChainReferenceKind, chainFact, decideStatus, ethereumAddress } from './rules.ts'

const asked = { isConfirmed: true, isOwned: true, byItself: false }
it.each([
  ['active', 'paused', {}, 'changed'],
  ['paused', 'active', {}, 'changed'],
  ['paused', 'paused', {}, 'same'],
  ['active', 'dead', {}, 'changed'],
  ['active', 'dead', { isConfirmed: false }, 'unconfirmed'],
  ['dead', 'dead', { isConfirmed: false }, 'same'],
  ['dead', 'active', {}, 'for_good'],
  ['dead', 'paused', {}, 'for_good'],
  ['paused', 'active', { byItself: true }, 'owner_alone'],
  ['paused', 'active', { byItself: true, isOwned: false }, 'changed'],
  ['active', 'paused', { byItself: true }, 'changed'],
] as const)('judgeStatus(%s, %s, %o) returns %s', (from, to, differs, decision) =>
  expect(decideStatus(from, to, { ...asked, ...differs })).toBe(decision),
)

it('areHeartbeatsOver returns true exactly 24 hours after retirement, and never for other agents', () => {
  const died = new Date('2026-03-01T10:00:00Z')
  const after = (ms: number) => new Date(died.getTime() + ms)
  expect([86_399_999, 86_400_000].map((ms) => areHeartbeatsOver(died, after(ms)))).toEqual([false, true])
  expect(areHeartbeatsOver(null, after(1e12))).toBe(false)
})

describe('Ethereum addresses', () => {
  // Test vectors of EIP-55.
  it.each([
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x27b1fdb04752bbc536007a920d24acb045561c26',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])('%s is accepted and derived from its lower-case form', (address) => {
    expect(ethereumAddress(address)).toBe(address)
    expect(ethereumAddress(address.toLowerCase())).toBe(address)
  })

  it.each([
    ['a wrong capital', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed'],
    ['a digit less', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe'],
    ['no 0x', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['another letter', '0xgaAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ])('%s is rejected', (_, address) => expect(ethereumAddress(address)).toBeUndefined())
})

const hash = 'a'.repeat(64)
const bitcoin = 'bip122:000000000019d6689c085ae165831e93'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

describe('chain references', () => {
  it.each<[string, ChainReferenceKind, string, string]>([
    ['eip155:1', 'transaction', `0x${hash.toUpperCase()}`, `0x${hash}`],
    ['eip155:8453', 'attestation', `0x${hash}`, `0x${hash}`],
    [bitcoin, 'transaction', hash, hash],
    [bitcoin, 'address', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
    [solana, 'address', '11111111111111111111111111111111', '11111111111111111111111111111111'],
    ['cosmos:cosmoshub-4', 'address', 'cosmos1abc', 'cosmos1abc'],
  ])('%s %s %s is accepted', (chain, kind, reference, retained) =>
    expect(chainFact({ chain, kind, reference })).toEqual({ chain, kind, reference: retained }),
  )

  it.each<[string, ChainReferenceKind, string, 'chain' | 'reference']>([
    ['ethereum', 'address', '0x', 'chain'],
    ['eip155:', 'address', '0x', 'chain'],
    ['eip155:one', 'transaction', `0x${hash}`, 'chain'],
    ['bip122:1', 'transaction', hash, 'chain'],
    ['eip155:1', 'transaction', hash, 'reference'],
    ['eip155:1', 'transaction', `0x${hash}a`, 'reference'],
    ['eip155:1', 'address', `0x${hash}`, 'reference'],
    [bitcoin, 'address', '0OIl', 'reference'],
    [solana, 'transaction', 'short', 'reference'],
    ['cosmos:cosmoshub-4', 'address', 'a name <b>', 'reference'],
  ])('%s %s %s is rejected', (chain, kind, reference, wrong) =>
    expect(chainFact({ chain, kind, reference })).toMatchObject({ wrong }),
  )
})
