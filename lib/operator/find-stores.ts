import { readdir } from 'node:fs/promises'
import { readable } from '#lib/domains/projects/values/readable.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import { redisCache } from '#lib/stores/cache/redis.ts'
import { connectNeo4j } from '#lib/stores/graph/neo4j-connection.ts'
import { neo4jReadPage } from '#lib/stores/graph/neo4j-reading.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { FindRecord, FindSource, UnreadKind } from './find.ts'

const keysAtOnce = 50
/** Maximum size of an object in bytes. Larger ones are counted. */
const maxRead = 32 * 1024 * 1024
/** Host and path of an address, without credentials. */
export const placeOf = (url: string): string => {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
const none = () => []

const folderRefusals: Readonly<Record<string, StoreRefusal>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  EACCES: 'access_denied',
  EPERM: 'access_denied',
}
/** A folder of a mistyped path would be empty, and a search of it complete. */
async function requireFolder(folder: string): Promise<void> {
  try {
    await readdir(folder)
  } catch (error) {
    const code = errorCode(error) ?? ''
    throw unusableStore(folderRefusals[code], { detail: `The folder cannot be read (${code}).` })
  }
}

/** Nodes and relationships of every label, in reading transactions. Unlike the graph of an installation, it creates no indexes. */
export function neo4jSource(url: string): FindSource {
  const connection = connectNeo4j(url)
  return {
    store: 'neo4j',
    address: placeOf(url),
    skipped: none,
    close: () => connection.close(),
    async page(after) {
      const { elements, next } = await neo4jReadPage(
        (text, parameters) => connection.read((ask) => ask(text, parameters)),
        after,
      )
      const records = elements.flatMap(({ group, texts }) =>
        texts.map(
          ({ kind, id, field, text }): FindRecord => ({
            kind,
            name: group === null ? id : `${id} of group ${group}`,
            field,
            texts: [text],
          }),
        ),
      )
      return { records, unread: {}, next }
    },
  }
}

/** Keys of every type and their values. */
export function redisSource(url: string): FindSource {
  const cache = redisCache(url)
  return {
    store: 'redis',
    address: placeOf(url),
    skipped: none,
    close: () => cache.close(),
    async page(after) {
      const records: FindRecord[] = []
      let binary = 0
      const next = await cache.page(after, async ({ name, type, parts }) => {
        const values = parts.flatMap(({ texts }) => texts.map((text) => readable(text)))
        binary += values.filter(({ form }) => form === 'binary').length
        const fields = type === 'hash' ? parts.map(({ id }) => id.toString()) : []
        const text = [...fields, ...values.map((value) => value.text)].join('\n')
        records.push({ kind: 'key', name, field: 'name', texts: [name] })
        records.push({ kind: 'key', name, field: type, texts: [text] })
      })
      return { records, unread: binary > 0 ? { binary } : {}, next }
    },
  }
}

/** `address`: without credentials. `requiresFolder`: a folder that does not exist is an error; otherwise it is empty. */
export function openObjects(
  url: string,
  { requiresFolder = true } = {},
): { address: string; open(): Promise<ObjectStore> } {
  const address = objectsAddress(url, '')
  return {
    address: address.shown,
    async open() {
      if (address.provider === 'files') {
        if (requiresFolder) await requireFolder(address.folder)
        return fileObjects(address.folder)
      }
      if (address.provider === 's3') return (await import('#lib/stores/objects/s3.ts')).s3Objects(address)
      return (await import('#lib/stores/objects/gcs.ts')).gcsObjects(address)
    },
  }
}

/** Every version of every object: its key, its description and its content. */
export function objectsSource(url: string, options?: { requiresFolder?: boolean }): FindSource {
  const { address, open } = openObjects(url, options)
  let opened: Promise<ObjectStore> | undefined
  return {
    store: 'objects',
    address,
    skipped: none,
    close: async () => (await opened)?.close(),
    async page(after) {
      opened ??= open()
      const objects = await opened
      const records: FindRecord[] = []
      const unread: Partial<Record<UnreadKind, number>> = {}
      const more = (kind: UnreadKind) => {
        unread[kind] = (unread[kind] ?? 0) + 1
      }
      const keys = await objects.list('', after ?? '', keysAtOnce)
      for (const key of keys) {
        records.push({ kind: 'object', name: key, field: 'key', texts: [key] })
        for (const { version } of await objects.versions(key)) {
          if (version.startsWith('upload:')) {
            more('format')
            continue
          }
          const one = await objects.read(key, maxRead, version)
          if (!one) continue
          if (!one.bytes) more('large')
          const value = one.bytes && readable(one.bytes)
          if (value?.form === 'binary') more('binary')
          const texts = [[...one.described, value?.text ?? ''].join('\n')]
          records.push({ kind: 'object', name: key, field: version === '' ? 'content' : `version ${version}`, texts })
        }
      }
      return { records, unread, next: keys.length < keysAtOnce ? null : (keys.at(-1) ?? null) }
    },
  }
}
