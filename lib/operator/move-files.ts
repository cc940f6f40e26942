import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '#lib/app.ts'
import { areSnapshotKeysInBucket, exportsFolder, markIn, snapshotKeysFolder } from '#lib/config/data-folder.ts'
import { sitesOf } from '#lib/config/locations.ts'
import { exportFileForm, exportLead } from '#lib/domains/exports/export-files.ts'
import { keyFileForm, keyFolderMark, keyFolderMarkPath, snapshotKeyLead } from '#lib/domains/snapshots/key-files.ts'
import { connectedStoresOf, recordMove } from '#lib/domains/stores/registered-stores.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type ObjectStore, requireFinalDeletion } from '#lib/stores/objects/objects.ts'
import { folderMarkPath } from '#lib/stores/registered-store.ts'

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })

async function hashOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of bytes) hash.update(piece)
  return hash.digest('hex')
}

/** Copies files to the bucket and reads each copy back. The files stay. */
async function copyAll(store: ObjectStore, folder: string, lead: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(folder, name)
    await store.put(`${lead}${name}`, createReadStream(path), { mediaType: 'application/octet-stream' })
    const copy = await store.get(`${lead}${name}`)
    if (!copy || (await hashOf(copy)) !== (await hashOf(createReadStream(path))))
      throw new Problem(
        'unavailable',
        'The bucket returned other bytes than were stored in it. Nothing was removed from this folder. Check the bucket, then run the command again.',
      )
  }
}

/**
 * Moves prepared exports and snapshot keys from the folders of a stopped installation into the bucket of KP_FILES_URL. A folder counts as
 * empty only when none of its files remains, so an erasure never overlooks one. Safe to repeat after a crash at any point.
 */
export async function moveFiles({ env, stored: { files: store }, pipeline }: App) {
  if (!store)
    throw new Problem('bad_request', 'KP_FILES_URL is not set. Set it to the bucket, then run the command again.')
  const bucket: ObjectStore = store
  await requireFinalDeletion(bucket)
  const connected = connectedStoresOf(sitesOf(env))
  const moved = { exports: 0, snapshot_keys: 0 }

  async function move(
    port: keyof typeof moved,
    {
      folder,
      mark,
      markPath,
      lead,
      form,
    }: Record<'folder' | 'markPath' | 'lead', string> & {
      mark: string | undefined
      form: RegExp
    },
  ): Promise<void> {
    const target = connected.find((one) => one.port === port)
    if (typeof target?.identity !== 'string') throw new Error(`${port} has no bucket.`)
    const own = (await namesIn(folder)).filter((name) => form.test(name))
    const whole = own.filter((name) => !name.endsWith('.part'))
    await copyAll(bucket, folder, lead, whole)
    for (const name of own) await rm(join(folder, name))
    moved[port] = whole.length
    const { provider, identity, shown } = target
    await pipeline.transaction(async (tx) => {
      const now = pipeline.clock.now()
      await recordMove(tx, { port, former: mark, provider, identity, shown, now })
      await pipeline.auditWithin(tx, {
        actorId: 'system:admin.move-files',
        at: now,
        ip: '',
        action: 'update',
        resourceType: 'store',
        resourceId: port,
        details: { moved: whole.length },
      })
    })
    await rm(markPath, { force: true })
  }

  const [exported, keys] = [exportsFolder(env), snapshotKeysFolder(env)]
  await move('exports', {
    folder: exported,
    mark: await markIn(folderMarkPath(exported)),
    markPath: folderMarkPath(exported),
    lead: exportLead,
    form: exportFileForm,
  })
  if (areSnapshotKeysInBucket(env))
    await move('snapshot_keys', {
      folder: keys,
      mark: await keyFolderMark(keys),
      markPath: keyFolderMarkPath(keys),
      lead: snapshotKeyLead,
      form: keyFileForm,
    })
  return moved
}
