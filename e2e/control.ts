import { z } from 'zod'
import { controlPort, origin, readCredentials } from './credentials.ts'

export interface BrowserInstallation {
  origin: string
  /** The password of all demo people. */
  password: string
  /** Sends an order that no user can send. */
  ask(order: Order): Promise<unknown>
}
let chosen: BrowserInstallation | undefined
/** Selects another installation than the default one of the browser tests. */
export const setInstallation = (installation: BrowserInstallation): void => {
  chosen = installation
}
/** The selected installation; by default the one of the browser tests. */
export const browserInstallation = (): BrowserInstallation =>
  chosen ?? { origin, password: readCredentials().password, ask: orderAt(controlPort) }

/** Orders that browser tests send to the installation and that no user can send. */
export const Order = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('advance'), milliseconds: z.number().positive() }),
  z.strictObject({ do: z.literal('work') }),
  z.strictObject({ do: z.literal('sign-in'), email: z.string(), password: z.string() }),
  z.strictObject({ do: z.literal('store'), silentAt: z.enum(['plan', 'erase']).nullable() }),
  z.strictObject({ do: z.literal('proposals'), areReadable: z.boolean() }),
  z.strictObject({ do: z.literal('encrypt'), thread: z.string() }),
  z.object({ do: z.literal('remember'), thread: z.string(), text: z.string() }),
  z.strictObject({ do: z.literal('down') }),
  z.strictObject({ do: z.literal('up') }),
])
export type Order = z.output<typeof Order>

/** Sends orders to an installation of e2e/installation.ts through its control port. */
export const orderAt =
  (port: number) =>
  async (order: Order): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(order) })
    if (!response.ok) throw new Error(`${order.do}: ${await response.text()}`)
    return response.json()
  }
const ask = (order: Order): Promise<unknown> => browserInstallation().ask(order)
const hour = 3_600_000

export const control = {
  /** Advances the clock by hours and lets the worker do the work that is due. Sessions last eight hours. */
  async advance(hours: number): Promise<void> {
    await ask({ do: 'advance', milliseconds: hours * hour })
  },
  /** Waits until the worker has done the work that is due. */
  async work(): Promise<void> {
    await ask({ do: 'work' })
  },
  /** Makes the side store unavailable at this stage of an erasure. Null: available. */
  async silence(silentAt: 'plan' | 'erase' | null): Promise<void> {
    await ask({ do: 'store', silentAt })
  },
  /** Whether the database lets the application read proposals. If not, their page fails. */
  async proposals(areReadable: boolean): Promise<void> {
    await ask({ do: 'proposals', areReadable })
  },
  /** Stores a checkpoint of this thread that only the application can read. */
  async encrypt(thread: string): Promise<void> {
    await ask({ do: 'encrypt', thread })
  },
  /** Stores a checkpoint of this thread with this text. */
  async remember(thread: string, text: string): Promise<void> {
    await ask({ do: 'remember', thread, text })
  },
  async down(): Promise<void> {
    await ask({ do: 'down' })
  },
  async up(): Promise<void> {
    await ask({ do: 'up' })
  },
}

export type BrowserSession = Awaited<ReturnType<typeof sessionOf>>
/** A session of a demo person, in the form of a browser's storage. */
export async function sessionOf(email: string, password = browserInstallation().password) {
  const { cookie } = z.object({ cookie: z.string() }).parse(await ask({ do: 'sign-in', email, password }))
  const kept = {
    domain: new URL(browserInstallation().origin).hostname,
    path: '/',
    expires: -1,
    httpOnly: true,
    secure: false,
    sameSite: 'Lax' as const,
  }
  return {
    cookies: [
      { ...kept, name: 'next-auth.session-token', value: cookie },
      // Without a known time zone, the server sends the first page again while a test reads it.
      { ...kept, name: 'tz', value: 'Europe/Berlin' },
    ],
    origins: [],
  }
}
