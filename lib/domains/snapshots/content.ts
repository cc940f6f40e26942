import { scanFields } from '#lib/domains/pii/fields.ts'
import type { SensitiveFinding, SensitiveKind } from '#lib/domains/pii/findings.ts'
import { redact } from '#lib/domains/pii/redaction.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { CredentialScanner, credentialSpans, isKeyBytes } from '#lib/domains/pii/secrets/credentials.ts'
import { TextScanner } from '#lib/domains/pii/streaming.ts'
import { DepthError } from '#lib/domains/sanitizer/sanitizer.ts'
import { isSecretName, NamedSecrets, TooDeep } from './named-secrets.ts'
import type { StatePart } from './ports.ts'
import { maxSecretLocations, type SecretLocation } from './rules.ts'

/** The content of a snapshot contains a secret. Reports kinds and paths, never the secret. */
export class SecretRemaining extends Error {
  readonly places: SecretLocation[]
  constructor(locations: SecretLocation[]) {
    super('the snapshot still contains a secret')
    this.places = locations
  }
}

/** The state that an agent uploaded. `bytes` can be called repeatedly. */
export interface Bundle {
  mediaType: string
  bytes(): Promise<AsyncIterable<Uint8Array> | undefined>
}
export interface SnapshotContent {
  agentId: string
  /** The agent's settings, as JSON. */
  settings: Record<string, unknown>
  parts: readonly StatePart[]
  until: Date
  bundle: Bundle | undefined
}

const secret: ReadonlySet<SensitiveKind> = new Set<SensitiveKind>(['private_key', 'seed_phrase', 'api_key'])
/** A key with low confidence is published or has a wrong checksum, so nobody can use it. Phrases and private keys always count. */
const isSecret = ({ kind, confidence }: Pick<SensitiveFinding, 'kind' | 'confidence'>): boolean =>
  secret.has(kind) && (kind !== 'api_key' || confidence !== 'low')
const encoder = new TextEncoder()
const line = (value: unknown): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`)
/** State bytes in one line. A multiple of three, so that the base64 of a line has no padding except at the end of the state. */
const stateLine = 48 * 1024

/** Finds credentials in the texts of a record, in fields named after secrets, and in arrays of key bytes. */
function credentialsIn(node: unknown, path: readonly string[]): SecretLocation[] {
  const here = (kind: string): SecretLocation => ({ kind, path: path.map((step) => redact(step).text).join('.') })
  if (typeof node === 'string') {
    const [name = '', above = ''] = path.filter((step) => !/^\d+$/.test(step)).reverse()
    // A redaction mark (`‹…›`) is not a secret.
    const isNamed = /^[^\s‹]{8,}$/.test(node) && isSecretName(name, above)
    const [first] = credentialSpans(node)
    return first ? [here(first.kind)] : isNamed ? [here('credential')] : []
  }
  if (typeof node !== 'object' || node === null) return []
  if (isKeyBytes(Object.values(node))) return [here('private_key')]
  return Object.entries(node).flatMap(([name, child]) => credentialsIn(child, [...path, name]))
}
function placesIn(record: unknown, text: string): SecretLocation[] {
  try {
    const found = scanFields(record).flatMap(({ path, findings }) =>
      findings.filter(isSecret).map(({ kind }): SecretLocation => ({ kind, path: path.join('.') })),
    )
    const credentials = credentialsIn(record, [])
    const known = new Set(credentials.map(({ path }) => path))
    const isKnown = ({ kind, path }: SecretLocation) => kind === 'api_key' && known.has(path)
    const retained = found.filter((one) => !isKnown(one))
    const reported = new Set(retained.map(({ path }) => path))
    return [...retained, ...credentials.filter(({ path }) => !reported.has(path))]
  } catch (error) {
    if (!(error instanceof DepthError)) throw error
    return scan(text)
      .filter(isSecret)
      .map(({ kind }) => ({ kind, path: '' }))
  }
}
const idOf = (record: unknown): string =>
  typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string' ? record.id : '-'

const isJson = ({ mediaType }: Bundle): boolean => mediaType.includes('json')
/** The state as text. For JSON, without the values of fields named after secrets. */
export async function* bundleText(
  bundle: Bundle,
  fields: NamedSecrets,
): AsyncGenerator<{ text: string; bytes: Uint8Array }> {
  const source = await bundle.bytes()
  if (!source) return
  const decoder = new TextDecoder('utf-8')
  for await (const bytes of source) {
    const text = decoder.decode(bytes, { stream: true })
    if (!isJson(bundle)) yield { text, bytes }
    else {
      const retained = fields.push(text)
      yield { text: retained, bytes: encoder.encode(retained) }
    }
  }
  const rest = decoder.decode()
  const last = isJson(bundle) ? fields.push(rest) + fields.end() : rest
  yield { text: last, bytes: isJson(bundle) ? encoder.encode(last) : new Uint8Array() }
}
/** Paths of offsets in a state. For a state that is not JSON: `@` and the offset. */
async function pathsOf(bundle: Bundle, places: readonly number[]): Promise<string[]> {
  if (!isJson(bundle)) return places.map((place) => `@${place}`)
  const fields = new NamedSecrets(places)
  for await (const _ of bundleText(bundle, fields));
  const safe = (path: string) => redact(path).text
  return places.map((place, index) => safe(fields.paths[index] ?? `@${place}`))
}

interface FoundSecret {
  kind: string
  start: number
  end: number
}
const meets = (one: FoundSecret, other: FoundSecret): boolean => other.end > one.start && other.start < one.end
/** Merges both lists in text order without duplicates. A credential keeps its own kind when the scanner reports it as an API key. */
function together(found: readonly FoundSecret[], credentials: readonly FoundSecret[]): FoundSecret[] {
  const retained = found.filter((one) => one.kind !== 'api_key' || !credentials.some((other) => meets(one, other)))
  const others = credentials.filter((one) => !retained.some((other) => meets(one, other)))
  return [...retained, ...others].sort((one, other) => one.start - other.start).slice(0, maxSecretLocations)
}

async function* stateLines(bundle: Bundle): AsyncGenerator<Uint8Array> {
  const scanner = new TextScanner()
  const credentials = new CredentialScanner()
  const found: FoundSecret[] = []
  /** Kept apart from `found`, because the two scanners report at different times. */
  const others: FoundSecret[] = []
  const report = (
    { findings }: { findings: readonly SensitiveFinding[] },
    spans: readonly (FoundSecret & { isPublished?: boolean })[],
  ) => {
    found.push(...findings.filter(isSecret).slice(0, maxSecretLocations - found.length))
    others.push(...spans.slice(0, maxSecretLocations - others.length))
  }
  const pending = Buffer.alloc(stateLine)
  let filled = 0
  const reported = () => {
    const text = `{"part":"state","data":"${pending.toString('base64', 0, filled)}"}\n`
    filled = 0
    return Buffer.from(text, 'latin1')
  }
  yield line({ part: 'state', media_type: bundle.mediaType })
  try {
    for await (const { text, bytes } of bundleText(bundle, new NamedSecrets())) {
      report(scanner.push(text), credentials.push(text))
      // After the first secret, the rest is only scanned and not written.
      if (found.length + others.length > 0) continue
      for (let from = 0; from < bytes.length; ) {
        const taken = bytes.subarray(from, from + stateLine - filled)
        pending.set(taken, filled)
        filled += taken.length
        from += taken.length
        if (filled === stateLine) yield reported()
      }
    }
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    throw new SecretRemaining([{ kind: 'too_deep', path: 'state' }])
  }
  report(scanner.end(), credentials.end())
  if (found.length + others.length > 0) {
    const all = together(found, others)
    const paths = await pathsOf(
      bundle,
      all.map(({ start }) => start),
    )
    throw new SecretRemaining(all.map(({ kind }, index) => ({ kind, path: `state.${paths[index] ?? ''}` })))
  }
  if (filled > 0) yield reported()
}

/**
 * The content of a snapshot as JSON Lines in UTF-8: `{part: 'agent', record}`, the records of the other parts, the
 * lines of the state and `{part: 'end', records}` with the record count.
 * @throws SecretLeft before the end line, when the content contains a secret
 */
export async function* bundleContentOf({
  agentId,
  settings,
  parts,
  until,
  bundle,
}: SnapshotContent): AsyncGenerator<Uint8Array> {
  let records = 0
  const locations: SecretLocation[] = []
  yield line({ part: 'agent', record: settings })
  for (const { name, isSealed, pages } of parts)
    for await (const { lines } of pages(agentId, until)) {
      const retained: string[] = []
      for (const text of lines.split('\n')) {
        const record: unknown = JSON.parse(text)
        if (!isSealed(record))
          for (const { kind, path } of placesIn(record, text))
            if (locations.length < maxSecretLocations) locations.push({ kind, path: `${name}.${idOf(record)}.${path}` })
        retained.push(`{"part":${JSON.stringify(name)},"record":${text}}\n`)
      }
      records += retained.length
      if (locations.length === 0) yield encoder.encode(retained.join(''))
    }
  if (locations.length > 0) throw new SecretRemaining(locations)
  if (bundle) yield* stateLines(bundle)
  yield line({ part: 'end', records })
}
