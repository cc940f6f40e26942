import { readSigningKeys } from '#lib/domains/erasure/contract.ts'
import type { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import { Failure } from './failure.ts'
import { compareKeys, extendedPins, type KeyChange, readPin, writePin } from './pins.ts'
import type { CommandSession } from './session.ts'

export const publishedKeys = async (session: CommandSession): Promise<PublicKey[]> =>
  (await session.call(readSigningKeys)).body.keys

export interface Trust {
  verdict: KeyChange['verdict'] | 'pinned'
  keys: PublicKey[]
  added: PublicKey[]
}

/** Pins the offered keys, replacing earlier ones. */
function pin(session: CommandSession, keys: PublicKey[]): void {
  if (keys.length === 0) throw new Failure('no_keys', `${session.url} publishes no signing keys. Nothing was pinned.`)
  writePin(session.folder, { url: session.url, pinned_at: new Date().toISOString(), keys })
}

/**
 * Pins the registry's keys if none are pinned, so that later receipts can be verified offline. Otherwise only warns
 * about differences: only a person can decide to trust new keys.
 */
export async function pinOnFirstUse(session: CommandSession): Promise<Trust['verdict']> {
  const { terminal, url, command } = session
  const keys = await publishedKeys(session)
  const before = readPin(session.folder, url)
  if (!before) {
    pin(session, keys)
    terminal.note(`Pinned the keys that ${url} signs receipts with (${keys.length}).`)
    return 'pinned'
  }
  const { verdict } = compareKeys(before.keys, keys)
  if (verdict === 'extended') terminal.note(`${url} has new signing keys. To review them: ${command('receipts trust')}`)
  if (verdict === 'altered' || verdict === 'vanished')
    terminal.warning(
      `The signing keys of ${url} differ from your pinned keys. Your pinned keys were not changed. To review them: ${command('receipts trust')}`,
    )
  return verdict
}

/** Pins new keys in addition to the known ones. @throws Failure for a set that is not a rotation, unless `replace` is set */
export async function trust(session: CommandSession, replace: boolean): Promise<Trust> {
  const { url, command } = session
  const keys = await publishedKeys(session)
  const before = readPin(session.folder, url)
  if (!before || replace) {
    pin(session, keys)
    return { verdict: 'pinned', keys, added: keys }
  }
  const { verdict, added } = compareKeys(before.keys, keys)
  if (verdict === 'altered' || verdict === 'vanished')
    throw new Failure(
      'keys_changed',
      verdict === 'altered'
        ? `${url} publishes different keys under ids that you pinned on ${before.pinned_at.slice(0, 10)}. A key rotation does not do that. Your pinned keys were not changed.`
        : `None of the keys that you pinned for ${url} on ${before.pinned_at.slice(0, 10)} is still published. A key rotation keeps old keys. Your pinned keys were not changed.`,
      {
        advice: `Ask the operator of the registry. If this is a new installation at an old address: ${command(`receipts trust ${url} --replace`)}`,
      },
    )
  if (verdict === 'extended') pin(session, extendedPins(before.keys, added))
  return { verdict, keys: extendedPins(before.keys, added), added }
}

/** Pins the registry's signing keys. Only warns if they cannot be fetched, because the token works without them. */
export const pinIfReachable = (session: CommandSession): Promise<string> =>
  pinOnFirstUse(session).catch(() => {
    session.terminal.warning(
      `The registry's signing keys could not be pinned. To pin them now: ${session.command('receipts trust')}`,
    )
    return 'not_pinned'
  })
