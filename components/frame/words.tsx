import { NextIntlClientProvider } from 'next-intl'
import { getMessages } from 'next-intl/server'
import type { ReactNode } from 'react'
import type messages from '#messages/en.ts'

export type Namespace = keyof typeof messages
/** Message namespaces that the frame and the basic components need on every page. */
const everywhere: readonly Namespace[] = ['common', 'frame', 'problems', 'pages', 'erasure', 'failed', 'requestNames']

/** Sends the browser these messages and those of the frame, so that a page does not ship the messages of the whole console. */
export async function Messages({ of = [], children }: { of?: readonly Namespace[]; children: ReactNode }) {
  const all = await getMessages()
  const wanted = new Set<string>([...everywhere, ...of])
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => wanted.has(name)))
  return <NextIntlClientProvider messages={kept}>{children}</NextIntlClientProvider>
}
