import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { addressHashes, formHash } from './requests.ts'

const key = new Uint8Array(32).fill(7)
/** As earlier versions hashed it. */
const former = (address: string) =>
  createHmac('sha256', key).update(`form-address:${address.trim().toLowerCase()}`).digest('base64url')

it.each([
  ['jo@mail.example', ['Jo@Mail.example', ' jo@mail.example']],
  ['jö@bücher.example', ['jö@bücher.example'.normalize('NFD'), 'JÖ@xn--bcher-kva.example', 'jö@bücher.example']],
])('addressHashes finds the requests of %s under every form in which it was entered', (address, forms) => {
  for (const form of forms) {
    expect(formHash(key, 'address', form)).toBe(formHash(key, 'address', address))
    expect(addressHashes(key, form)).toEqual(expect.arrayContaining([former(address), former(form)]))
    expect(addressHashes(key, address)).toEqual(expect.arrayContaining([former(form), formHash(key, 'address', form)]))
  }
})

it('addressHashes returns one hash for an address in ASCII, the one of earlier versions', () => {
  expect(addressHashes(key, 'Jo@Mail.example')).toEqual([former('jo@mail.example')])
  expect(formHash(key, 'address', 'Jo@Mail.example')).toBe(former('jo@mail.example'))
  expect(formHash(key, 'network', 'A')).toBe(createHmac('sha256', key).update('form-network:a').digest('base64url'))
})
