import { join } from 'node:path'
import { z } from 'zod'
import { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import { parsedJson, readIfThere, writePrivately } from './config.ts'
import { Failure } from './failure.ts'

const Pin = z.object({ url: z.string(), pinned_at: z.iso.datetime(), keys: z.array(PublicKey).min(1) })
/** The signing keys of a registry at the time when it was trusted. */
export type Pin = z.output<typeof Pin>

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Identifies a registry by host, port and path. All loopback names are the same host. */
export function registryName(url: string): string {
  const { hostname, port, pathname, protocol } = new URL(url)
  const host = loopback.test(hostname) ? 'localhost' : hostname
  return `${host}:${port || (protocol === 'https:' ? '443' : '80')}${pathname.replace(/\/{1,8}$/, '')}`
}
export const isLoopback = (url: string): boolean => loopback.test(new URL(url).hostname)

const fileOf = (configFolder: string, url: string): string =>
  join(configFolder, 'keys', `${registryName(url).replace(/[^A-Za-z0-9.-]/g, '_')}.json`)

export function readPin(configFolder: string, url: string): Pin | undefined {
  const file = fileOf(configFolder, url)
  const text = readIfThere(file)
  if (text === undefined) return undefined
  const pin = parsedJson(text, Pin)
  if (!pin)
    throw new Failure('bad_pin', `${file} contains no keys that kp can read.`, {
      advice: 'Restore it from a backup, or remove it and trust the registry again.',
    })
  // Different registries can share a file name.
  return registryName(pin.url) === registryName(url) ? pin : undefined
}

export const writePin = (configFolder: string, pin: Pin): void =>
  writePrivately(fileOf(configFolder, pin.url), `${JSON.stringify(pin, null, 2)}\n`)

export interface KeyChange {
  /** altered: a known id has other bytes. vanished: no known key is offered. Both can mean an impostor. */
  verdict: 'same' | 'extended' | 'altered' | 'vanished'
  added: PublicKey[]
  missing: PublicKey[]
}

/** Compares the offered keys with the pinned ones. Keys may be added, and old ones may disappear as long as one pinned key remains. */
export function compareKeys(pinned: readonly PublicKey[], offered: readonly PublicKey[]): KeyChange {
  const known = new Map(pinned.map((key) => [key.kid, key]))
  const here = new Map(offered.map((key) => [key.kid, key]))
  const added = offered.filter(({ kid }) => !known.has(kid))
  const missing = pinned.filter(({ kid }) => !here.has(kid))
  const isAltered =
    here.size !== offered.length ||
    offered.some(({ kid, x, crv, kty }) => {
      const before = known.get(kid)
      return before !== undefined && (before.x !== x || before.crv !== crv || before.kty !== kty)
    })
  if (isAltered) return { verdict: 'altered', added, missing }
  if (missing.length === known.size) return { verdict: 'vanished', added, missing }
  return { verdict: added.length > 0 ? 'extended' : 'same', added, missing }
}

/** Adds new keys and keeps every pinned one, because old receipts need them. */
export const extendedPins = (pinned: readonly PublicKey[], added: readonly PublicKey[]): PublicKey[] => [
  ...added,
  ...pinned,
]
