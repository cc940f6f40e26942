import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { z } from 'zod'
import { fileLedger, type LedgerRow } from '#lib/stores/ledger/ledger.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { testSecret } from './app.ts'

/** The folder of the ledger within an installation's data folder, by default. */
const ledgerFolder = 'erasures'

/** The database and the folder of an installation. */
export interface StoredOutcome {
  ownerUrl: string
  dataDir: string
}

const tablesOf = async (client: pg.Client): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       AND n.nspname !~ '^pg_(toast|temp)' ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

/** Visits every row of every table as JSON text, and every file as text. */
async function everything(
  { ownerUrl, dataDir }: StoredOutcome,
  visit: (place: string, text: string) => void,
): Promise<void> {
  await withConnection(ownerUrl, async (client) => {
    for (const table of await tablesOf(client)) {
      const { rows } = await client.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${table} AS t`)
      for (const { row } of rows) visit(table.replace(/^public\./, ''), row)
    }
  })
  const files = existsSync(dataDir) ? readdirSync(dataDir, { recursive: true, withFileTypes: true }) : []
  for (const file of files)
    if (file.isFile()) {
      const path = join(file.parentPath, file.name)
      visit(path.slice(dataDir.length + 1), `${file.name}\n${readFileSync(path, 'latin1')}`)
    }
}

/** Tables and folders that contain any of the strings, with the number of occurrences. Decodes `bytea` columns as text, and emails. */
export async function locationCountsIn(
  installation: StoredOutcome,
  searchStrings: readonly string[],
): Promise<Record<string, number>> {
  const wanted = searchStrings.map((searchString) => searchString.toLowerCase())
  const found: Record<string, number> = {}
  await everything(installation, (place, text) => {
    const bytes = [...text.matchAll(/"\\\\x([0-9a-f]+)"/g)].map(([, hex = '']) =>
      Buffer.from(hex, 'hex').toString('latin1'),
    )
    const whole = [text, ...bytes, place.startsWith('mail/') ? decoded(text) : ''].join('\n').toLowerCase()
    if (!wanted.some((searchString) => whole.includes(searchString))) return
    const where = place.includes('/') ? `${place.slice(0, place.indexOf('/'))}/` : place
    found[where] = (found[where] ?? 0) + 1
  })
  return found
}

/** An email with quoted-printable and base64 decoded. */
const decoded = (letter: string): string =>
  letter
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/^(?:[A-Za-z0-9+/]{60,}={0,2}\r?\n?)+[A-Za-z0-9+/]*={0,2}/gm, (text) =>
      Buffer.from(text, 'base64').toString('latin1'),
    )

const time = /\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g
/** Replaces values that differ between equal runs: times and random values. */
const settled = (text: string): string =>
  text
    .replace(time, '<time>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/\b(plan|aud|job|evt|store)_[0-9A-Za-z]{22}\b/g, '<$1>')
    // Serial ids of storage counts: a rolled back transaction leaves a gap.
    .replace(/^\{"id": \d+, "rows": /, '{"rows": ')
    .replace(/"jws": ?"[^"]*"/g, '"jws": "<jws>"')
    .replace(/"fingerprints": ?"[^"]*"/g, '"fingerprints": "<keyed>"')
    .replace(/("holder": ?"erased\.words".*"item": ?)"[^"]*"/, '$1"<keyed>"')

const Tries = z.object({ key: z.string().nullable(), attempts: z.number(), max_attempts: z.number() })
/** An erasure job that used up its attempts because each worker died. Other jobs took over its step, and the row remains for inspection. */
function isUsedUp(text: string): boolean {
  const { key, attempts, max_attempts } = Tries.parse(JSON.parse(text))
  return attempts >= max_attempts && key?.startsWith('erasure.') === true
}

/**
 * The content of an installation in a normal form that is equal for equal histories: sorted rows without times, random
 * values and folder names, ledger rows merged as readers merge them, and each email once, because a worker that dies
 * after sending sends it again.
 */
export async function outcomeOf(installation: StoredOutcome): Promise<Record<string, string[]>> {
  const outcome: Record<string, string[]> = {}
  const add = (place: string, text: string) => {
    outcome[place] ??= []
    outcome[place].push(settled(text).replaceAll(installation.dataDir, '<data>'))
  }
  await everything(installation, (place, text) => {
    if (place.startsWith('graphile_worker.')) {
      if (place.endsWith('_jobs') && !isUsedUp(text)) add(place, text.replace(/"id": ?\d+, ?/, ''))
    } else if (place.startsWith(`${ledgerFolder}/`)) return
    else if (place.startsWith('mail/')) add('mail', emailsText(text))
    else if (place.includes('/')) add(place, text)
    else add(place, text)
  })
  // Read through the ledger reader: items are sealed under random keys.
  for await (const row of fileLedger(join(installation.dataDir, ledgerFolder), { secret: () => testSecret }).read())
    for (const line of ledgerLines(row)) add('ledger', line)
  for (const [place, rows] of Object.entries(outcome)) {
    const sorted = rows.sort()
    outcome[place] = ['mail', 'ledger'].includes(place) ? [...new Set(sorted)] : sorted
  }
  return outcome
}

/** One line per item: a plan that was written twice repeats its items, possibly in other pages. */
function ledgerLines(row: LedgerRow): string[] {
  if (row.kind !== 'items') return [JSON.stringify(row)]
  const { items, identities, ...rest } = row
  return [
    ...items.map((item) => JSON.stringify({ ...rest, item })),
    ...Object.entries(identities ?? {}).map((pair) => JSON.stringify({ ...rest, pair })),
  ]
}

/** An email without its file name, date, id and boundaries. */
const emailsText = (text: string): string =>
  decoded(text)
    .replace(/^.*\n/, '')
    .replace(/^(Date|Message-ID|Content-Type):.*(\r?\n[ \t].*)*/gim, '')
    .replace(/----_NmP-[\w-]+/g, '')
    .replace(/\b\d{1,2}:\d\d\b/g, '<hour>')
