import { expect, it } from 'vitest'
import { EmailAddress } from './email-address.ts'

it.each([
  'jo@mail.example',
  'jo.o+tag@sub.mail.example',
  'jo@bücher.example',
  'jörg@müller.de',
  '用户@例子.中国',
  'उपयोगकर्ता@उदाहरण.भारत',
  'jo@xn--bcher-kva.example',
  'jo@mail.xn--p1ai',
])('accepts the address %s', (address) => {
  expect(EmailAddress.safeParse(address).success).toBe(true)
})
it.each([
  '',
  'jo',
  'jo@',
  '@mail.example',
  'jo@mail',
  '.jo@mail.example',
  'jo..o@mail.example',
  'jo@-mail.example',
  'jo o@mail.example',
  'jo@mail.1',
])('rejects %j', (address) => {
  expect(EmailAddress.safeParse(address).success).toBe(false)
})
it('rejects a long text in linear time', () => {
  expect(EmailAddress.safeParse('a'.repeat(200_000)).success).toBe(false)
  expect(EmailAddress.safeParse(`a@${'b.'.repeat(100_000)}`).success).toBe(false)
})
