import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DeleteMarkerEntry,
  GetObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type ObjectVersion,
  type S3Client,
} from '@aws-sdk/client-s3'
import { createClient } from '@redis/client'
import type { Driver } from 'neo4j-driver'
import { withConnection } from '#lib/stores/postgres/connection.ts'

/** The content of a store as text, by place. Read through the store's own interfaces, without the application's code. */
export type Contents = Map<string, string>

const plain = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

/** Every row of every table in every schema of a database. Bytes are decoded as text. */
export async function rowsOf(url: string): Promise<Contents> {
  const found: Contents = new Map()
  const database = new URL(url).pathname
  await withConnection(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'`,
    )
    for (const { name } of tables) {
      const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`)
      for (const [n, row] of rows.entries())
        for (const [column, value] of Object.entries(row))
          found.set(
            `${name} ${n} ${column} ${database}`,
            Buffer.isBuffer(value) ? plain(value) : typeof value === 'string' ? value : JSON.stringify(value),
          )
    }
  })
  return found
}

/** Every file below a folder. */
export async function filesOf(folder: string): Promise<Contents> {
  const found: Contents = new Map()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    found.set(path, `${path}\n${plain(await readFile(path))}`)
  }
  return found
}

/** Every node and relationship of a Neo4j, with labels and properties. */
export async function graphOf(driver: Driver): Promise<Contents> {
  const { records } = await driver.executeQuery(
    `MATCH (n) RETURN elementId(n) AS id, labels(n) AS of, properties(n) AS p
     UNION ALL MATCH ()-[r]->() RETURN elementId(r) AS id, [type(r)] AS of, properties(r) AS p`,
  )
  return new Map(records.map((record) => [String(record.get('id')), JSON.stringify(record.toObject())]))
}

/** Every key of a Redis with its value, of any type. */
export async function keysOf(url: string): Promise<Contents> {
  const client = createClient({ url })
  await client.connect()
  try {
    const found: Contents = new Map()
    for await (const keys of client.scanIterator())
      for (const key of keys) {
        const type = await client.type(key)
        const value =
          type === 'string'
            ? await client.get(key)
            : type === 'hash'
              ? await client.hGetAll(key)
              : type === 'list'
                ? await client.lRange(key, 0, -1)
                : type === 'zset'
                  ? await client.zRange(key, 0, -1)
                  : type === 'stream'
                    ? await client.xRange(key, '-', '+')
                    : await client.sMembers(key)
        found.set(key, `${key} ${JSON.stringify(value)}`)
      }
    return found
  } finally {
    client.destroy()
  }
}

/** Every version and delete marker of a bucket. */
export async function versionsOf(client: S3Client, bucket: string) {
  const [versions, markers]: [ObjectVersion[], DeleteMarkerEntry[]] = [[], []]
  for (let next: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {}; next; ) {
    const page: ListObjectVersionsCommandOutput = await client.send(
      new ListObjectVersionsCommand({ Bucket: bucket, ...next }),
    )
    versions.push(...(page.Versions ?? []))
    markers.push(...(page.DeleteMarkers ?? []))
    next = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker } : undefined
  }
  return { versions, markers }
}

/** The content of every version of every object of a bucket. */
export async function storedObjectsOf(client: S3Client, bucket: string): Promise<Contents> {
  const found: Contents = new Map()
  const { versions, markers } = await versionsOf(client, bucket)
  for (const { Key = '', VersionId } of versions) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key, VersionId }))
    found.set(`${Key} ${VersionId}`, `${Key} ${plain((await Body?.transformToByteArray()) ?? new Uint8Array())}`)
  }
  for (const { Key = '', VersionId } of markers) found.set(`${Key} ${VersionId}`, Key)
  return found
}

/** Only letters and digits in lower case, so that escaped or wrapped text is found. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
/** The places that contain the text. */
export const locationsOf = (contents: Contents, searchString: string): string[] =>
  [...contents].flatMap(([place, text]) => (bare(text).includes(bare(searchString)) ? [place] : []))
