import { z } from 'zod'
import { controlPort, origin, readCredentials } from './credentials.ts'

export interface Installation {
  origin: string
  /** Of everybody of the demo. */
  password: string
  /** Does what no user of it can. */
  ask(order: Order): Promise<unknown>
}
let chosen: Installation | undefined
/** Another than the one of the journeys. */
export const setInstallation = (installation: Installation): void => {
  chosen = installation
}
/** The one that the journeys are made in, unless another was chosen. */
export const installation = (): Installation =>
  chosen ?? { origin, password: readCredentials().password, ask: askAt(controlPort) }

/** What the journeys ask of the installation that no user of it can. */
export const Order = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('advance'), milliseconds: z.number().positive() }),
  z.strictObject({ do: z.literal('work') }),
  z.strictObject({ do: z.literal('sign-in'), email: z.string(), password: z.string() }),
  z.strictObject({ do: z.literal('store'), silentAt: z.enum(['plan', 'erase']).nullable() }),
  z.strictObject({ do: z.literal('encrypt'), thread: z.string() }),
  z.strictObject({ do: z.literal('down') }),
  z.strictObject({ do: z.literal('up') }),
])
export type Order = z.output<typeof Order>

/** Asks an installation of e2e/installation.ts by its control port. */
export const askAt =
  (port: number) =>
  async (order: Order): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(order) })
    if (!response.ok) throw new Error(`${order.do}: ${await response.text()}`)
    return response.json()
  }
const ask = (order: Order): Promise<unknown> => installation().ask(order)
const hour = 3_600_000

export const control = {
  /** Lets so many hours pass, and the worker do what is due then. Sessions live for eight. */
  async advance(hours: number): Promise<void> {
    await ask({ do: 'advance', milliseconds: hours * hour })
  },
  /** Waits for what the worker has to do now. */
  async work(): Promise<void> {
    await ask({ do: 'work' })
  },
  /** The side store does not answer at this stage of an erasure; null: it answers. */
  async silence(silentAt: 'plan' | 'erase' | null): Promise<void> {
    await ask({ do: 'store', silentAt })
  },
  /** The application stores a checkpoint of this thread that nobody but it reads. */
  async encrypt(thread: string): Promise<void> {
    await ask({ do: 'encrypt', thread })
  },
  async down(): Promise<void> {
    await ask({ do: 'down' })
  },
  async up(): Promise<void> {
    await ask({ do: 'up' })
  },
}

export type Session = Awaited<ReturnType<typeof sessionOf>>
/** A session of somebody of the demo, as a browser keeps it. */
export async function sessionOf(email: string, password = installation().password) {
  const { cookie } = z.object({ cookie: z.string() }).parse(await ask({ do: 'sign-in', email, password }))
  const kept = {
    ...{ domain: new URL(installation().origin).hostname, path: '/', expires: -1 },
    ...{ httpOnly: true, secure: false, sameSite: 'Lax' as const },
  }
  return {
    cookies: [
      { ...kept, name: 'next-auth.session-token', value: cookie },
      // If the server does not know the time zone, it sends the first page again while a test reads it.
      { ...kept, name: 'tz', value: 'Europe/Berlin' },
    ],
    origins: [],
  }
}
