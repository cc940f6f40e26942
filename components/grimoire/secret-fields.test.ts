import { NextIntlClientProvider } from 'next-intl'
import { createElement, type ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import messages from '#messages/en.ts'
import { useNewPassphrase } from './new-passphrase.tsx'
import { UnlockForm } from './unlock-form.tsx'

const NewPassphrase = () => useNewPassphrase().fields
const vault = {
  isOpen: false,
  openBy: undefined,
  wasIdle: false,
  ask: () => Promise.reject(new Error('locked')),
  lock: () => {},
  opened: () => {},
}

const rendered = (fields: ReactNode): string => {
  const inEnglish = { locale: 'en' as const, timeZone: 'UTC', messages, children: fields }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, inEnglish))
}

test.each([
  ['the unlock form', () => createElement(UnlockForm, { keyring: {}, vault }), 1],
  ['the new passphrase form', () => createElement(NewPassphrase), 2],
])('%s has no named inputs, so submitting it before hydration sends nothing', (_what, fields, count) => {
  const inputs = rendered(fields()).match(/<input[^>]*>/g) ?? []
  expect(inputs).toHaveLength(count)
  for (const input of inputs) expect(input).not.toContain(' name=')
})
