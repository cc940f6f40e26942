import { inflateSync } from 'node:zlib'
import { z } from 'zod'
import { attestationType, readingType, remainingIn } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { type PublicKey, verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import { ReadingAttestation, Receipt } from '#lib/kernel/receipt.ts'
import { parsedJson } from './config.ts'
import { registryName } from './pins.ts'

/** Maximum size of one attachment in bytes; a receipt is far smaller. */
const largest = 4 * 1024 * 1024

export const isPdf = (file: Uint8Array): boolean =>
  Buffer.from(file.buffer, file.byteOffset, Math.min(file.byteLength, 1024)).includes('%PDF-')

function contentOf(dictionary: string, data: Buffer): string | undefined {
  const filter = /\/Filter\s{0,8}\[?\s{0,8}\/(\w+)/.exec(dictionary)?.[1]
  try {
    if (filter === undefined) return data.toString('utf8')
    // Inflating ignores bytes after the compressed data, such as the line break before `endstream`.
    return filter === 'FlateDecode' ? inflateSync(data, { maxOutputLength: largest }).toString('utf8') : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the texts of the files embedded in a PDF (ISO 32000-1 §7.11.4) that this server wrote: plain or deflated,
 * each in its own object. Returns an empty list when another program saved the PDF and stored the files differently.
 */
export function pdfAttachments(file: Uint8Array): string[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const text = bytes.toString('latin1')
  const found: string[] = []
  for (const { index } of text.matchAll(/\/Type\s*\/EmbeddedFile(?!s)/g)) {
    const begin = /stream\r?\n/g
    begin.lastIndex = index
    const stream = begin.exec(text)
    if (!stream) continue
    const start = begin.lastIndex
    const dictionary = text.slice(text.lastIndexOf(' obj', index), stream.index)
    const length = /\/Length\s+(\d+)(?!\s+\d+\s+R)/.exec(dictionary)?.[1]
    const end = length === undefined ? text.indexOf('endstream', start) : start + Number(length)
    const content = contentOf(dictionary, bytes.subarray(start, end < 0 ? undefined : end))
    if (content !== undefined) found.push(content)
  }
  return found
}

export interface ReceiptFinding {
  ok: boolean
  text: string
}
interface ReceiptCheck {
  ok: boolean
  findings: ReceiptFinding[]
  /** Present when the input is a receipt. Trust it only if `ok`. */
  receipt?: Receipt
  kid?: string
}

/** Keys from before the receipt. `url`: the registry for which they were pinned, if any. */
export interface TrustedKeys {
  keys: readonly PublicKey[]
  url?: string
}

const count = (holders: number): string => (holders === 1 ? 'the one store was' : `all ${holders} stores were`)

const judged = (findings: ReceiptFinding[], more: Pick<ReceiptCheck, 'receipt' | 'kid'>): ReceiptCheck => ({
  ok: findings.every(({ ok }) => ok),
  findings,
  ...more,
})

/** Validates a receipt from any source. Returns the reason when it is not one. */
export function asReceipt(value: unknown): { receipt: Receipt } | { fault: string } {
  const parsed = Receipt.safeParse(value)
  if (parsed.success) return { receipt: parsed.data }
  const issue = parsed.error.issues[0]
  const place = issue?.path.join('.')
  return {
    fault: `The file is not a deletion receipt${issue ? `: ${place ? `${place}: ` : ''}${issue.message}` : ''}.`,
  }
}

const isKeySet = (text: string): boolean => parsedJson(text, z.object({ keys: z.array(z.unknown()) })) !== undefined

/**
 * The receipt in a file: JSON, or a PDF that contains exactly one. `keys`: the text of the public keys that are attached to the PDF. They are
 * part of its pages only: the author of a forged receipt can attach other keys.
 */
export function receiptIn(file: Uint8Array): { receipt: Receipt; isPdf: boolean; keys?: string } | { fault: string } {
  const read = (text: string) => {
    const value = parsedJson(text, z.unknown())
    return value === undefined ? { fault: 'The file is not JSON.' } : asReceipt(value)
  }
  if (!isPdf(file)) {
    const found = read(Buffer.from(file).toString('utf8'))
    return 'fault' in found ? found : { ...found, isPdf: false }
  }
  const attachments = pdfAttachments(file)
  const keys = attachments.find(isKeySet)
  const found = attachments.flatMap((text) => {
    const one = read(text)
    return 'fault' in one ? [] : [one.receipt]
  })
  const [receipt] = found
  if (receipt && found.length === 1)
    return keys === undefined ? { receipt, isPdf: true } : { receipt, isPdf: true, keys }
  return {
    fault:
      found.length > 1
        ? 'The PDF contains several receipts, so it is unclear which one to check.'
        : 'The PDF contains no receipt. Printing or saving a PDF again removes the receipt. Use the original file of the registry, or the receipt as JSON.',
  }
}

/** What the second statement says; without one, the receipt says nothing about data that nobody reported. */
function readingText(reading: Receipt['complete_reading']): string {
  if (!reading) return 'The connected stores have not been read completely yet.'
  const [from] = reading.stores.map((one) => one.from).sort()
  const until = reading.stores
    .map((one) => one.until)
    .sort()
    .at(-1)
  const left = reading.stores.reduce((sum, one) => sum + one.left, 0)
  const read = `Every connected store was read completely between ${from} and ${until}.`
  const rest = `${namesText(reading.stores)}${unreadText(reading.stores)}`
  return left === 0
    ? `${read} No erased words remain in the texts that it could read, except where others have also written them.${rest}`
    : `${read} Erased words remain in ${left === 1 ? '1 place' : `${left} places`} that others own or that cannot be changed.${rest}`
}
/** Says where names remain, in the words of the page of a receipt. Statements from before names were compared lack the counts. */
function namesText(stores: NonNullable<Receipt['complete_reading']>['stores']): string {
  const names = stores.flatMap((one) => one.names ?? [])
  if (names.length < stores.length) return ' Names alone were not compared.'
  const listed = names.reduce((sum, one) => sum + one.listed, 0)
  if (listed === 0) return ''
  const [places, them] = listed === 1 ? ['1 place', 'it'] : [`${listed} places`, 'them']
  return ` Names, or words that may be names, remain in ${places}: they were written after the deletion, have no date, belong to others or are uncertain. An admin can review ${them}.`
}
function unreadText(stores: ReadingAttestation['stores']): string {
  const count = stores.flatMap(({ not_read }) => not_read).reduce((sum, one) => sum + one.count, 0)
  return count === 0 ? '' : ` It could not read ${count} values.`
}

/** The attestation of a complete reading in a JSON file; undefined for other files. */
export function attestationIn(file: Uint8Array): ReadingAttestation | undefined {
  if (isPdf(file)) return undefined
  const parsed = ReadingAttestation.safeParse(parsedJson(Buffer.from(file).toString('utf8'), z.unknown()))
  return parsed.success ? parsed.data : undefined
}

/** Verifies the attestation of a complete reading offline, with keys from before it. */
export async function checkAttestation(attestation: ReadingAttestation, trusted: TrustedKeys): Promise<ReceiptCheck> {
  const verified = await verifyReceipt(attestation, trusted.keys, attestationType)
  if ('fault' in verified) return judged([{ ok: false, text: verified.fault.replace('receipt', 'attestation') }], {})
  const findings: ReceiptFinding[] = [
    {
      ok: true,
      text: `The signature is valid: it was made with the trusted key ${verified.kid}, and the attestation has not changed since.`,
    },
  ]
  const { issuer, stores, started_at, completed_at, erasures, erasures_found } = attestation
  if (trusted.url !== undefined && !(URL.canParse(issuer) && registryName(issuer) === registryName(trusted.url)))
    findings.push({
      ok: false,
      text: `The attestation names the registry ${issuer}, but the keys are trusted for ${trusted.url}.`,
    })
  else
    findings.push({
      ok: true,
      text: `Every connected store was read completely between ${started_at} and ${completed_at}. Words of ${erasures_found} of ${erasures} erasures were found.${namesText(stores)}${unreadText(stores)}`,
    })
  return judged(findings, { kid: verified.kid })
}

/**
 * Verifies a receipt offline: it must be signed with a trusted key of the registry that it names, and report no
 * residue. Keys that came with the receipt are ignored.
 */
export async function checkReceipt(receipt: Receipt, trusted: TrustedKeys): Promise<ReceiptCheck> {
  const findings: ReceiptFinding[] = []
  const verified = await verifyReceipt(receipt, trusted.keys)
  const kid = 'kid' in verified ? verified.kid : undefined
  findings.push(
    kid === undefined
      ? { ok: false, text: 'fault' in verified ? verified.fault : 'The signature is not valid.' }
      : {
          ok: true,
          text: `The signature is valid: it was made with the trusted key ${kid}, and the receipt has not changed since.`,
        },
  )
  if (
    trusted.url !== undefined &&
    !(URL.canParse(receipt.issuer) && registryName(receipt.issuer) === registryName(trusted.url))
  )
    findings.push({
      ok: false,
      text: `The receipt names the registry ${receipt.issuer}, but the keys are trusted for ${trusted.url}.`,
    })
  const left = remainingIn(receipt)
  if (receipt.stores.length === 0)
    findings.push({ ok: false, text: 'The receipt names no store, so it does not prove an erasure.' })
  for (const { holder, residue } of left)
    findings.push({ ok: false, text: `${holder} still had ${residue} records when it was searched again.` })
  const { complete_reading: reading } = receipt
  if (reading) {
    const read = await verifyReceipt(reading, trusted.keys, readingType)
    if ('fault' in read) findings.push({ ok: false, text: `The statement about the complete reading: ${read.fault}` })
    else if (reading.receipt_id !== receipt.receipt_id || reading.issuer !== receipt.issuer)
      findings.push({ ok: false, text: 'The statement about the complete reading belongs to another receipt.' })
  }
  // The receipt's content only counts after its signature was verified.
  const held = legalHoldCountsIn(receipt)
  if (findings.every(({ ok }) => ok))
    findings.push({
      ok: true,
      text:
        held > 0
          ? `No data that was due for erasure remains: ${count(receipt.stores.length)} searched again after the erasure. ${held === 1 ? '1 record remains' : `${held} records remain`} under a legal hold. When the hold ends, the receipt is signed again under the same id.`
          : `${count(receipt.stores.length)} searched again by ids, links and indexes after the erasure, and nothing was found. ${readingText(reading)}`,
    })
  return judged(findings, { receipt, ...(kid !== undefined && { kid }) })
}
