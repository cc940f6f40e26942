import { createReadStream } from 'node:fs'
import { openSealed } from '#lib/client/sealing/hpke.ts'
import { keyPairOf } from '#lib/client/sealing/keyring.ts'
import { readSealedSnapshot } from '#lib/client/sealing/snapshot.ts'
import { shownOnce } from '#lib/client/shown-once.ts'
import { downloadSnapshot, linkSnapshot, readSnapshotKey } from '#lib/domains/snapshots/contract.ts'
import { Failure } from './failure.ts'
import { promptedSecrets, sealing, unsealedMasterKey } from './keyring-opening.ts'
import type { CommandActor } from './person.ts'
import { printedSize, receiveWhole } from './receiving.ts'

/** Downloads the sealed file of a snapshot. Returns its size in bytes. */
export async function fetchSealed(asking: CommandActor, id: string, snapshotId: string, file: string): Promise<number> {
  const { data } = (await asking.call(linkSnapshot, { params: { id, snapshotId } })).body
  const token = new URL(shownOnce(data.url)).pathname.split('/').at(-1) ?? ''
  const response = await asking.stream(downloadSnapshot, { params: { token } })
  return receiveWhole(response, file, (bytes) => asking.terminal.progress(`Fetching: ${printedSize(bytes)}`))
}

/** The key of a snapshot, opened on this machine with the passphrase. */
export async function unsealedKey(asking: CommandActor, id: string, snapshotId: string, ask = promptedSecrets(asking)) {
  const { sealed_key } = (await asking.call(readSnapshotKey, { params: { id, snapshotId } })).body.data
  const { master, keyring } = await unsealedMasterKey(asking, id, ask)
  const key = await sealing(async () =>
    openSealed(await keyPairOf(master, keyring), sealed_key, { agent: id, snapshot: snapshotId }),
  )
  return { master, key }
}

/** Streams the content of a sealed file. @throws Failure when it is damaged, incomplete, or of another snapshot */
export async function* snapshotContentOf(
  file: string,
  key: Awaited<ReturnType<typeof unsealedKey>>['key'],
  { id, snapshotId }: { id: string; snapshotId: string },
): AsyncGenerator<Uint8Array> {
  const sealed = await sealing(() => readSealedSnapshot(createReadStream(file)))
  if (sealed.head.id !== snapshotId || sealed.head.agent !== id)
    throw new Failure(
      'other_snapshot',
      'The registry sent a different snapshot. Nothing was saved. Run the command again.',
    )
  const pieces = sealed.open(key)
  try {
    for (;;) {
      const { done, value } = await sealing(() => pieces.next())
      if (done) return
      yield value
    }
  } finally {
    await pieces.return(undefined)
  }
}

/** Splits UTF-8 chunks of any size into lines. */
export async function* snapshotLinesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
