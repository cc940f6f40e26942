import { z } from 'zod'
import { isPdf, pdfAttachments } from '#lib/domains/erasure/receipts/pdf-attachments.ts'
import { remainingIn } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { type PublicKey, verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { parsedJson } from './config.ts'
import { registryName } from './pins.ts'

export interface ReceiptFinding {
  ok: boolean
  text: string
}
export interface ReceiptCheck {
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

const count = (holders: number): string => (holders === 1 ? 'the one holder was' : `all ${holders} holders were`)

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
  return { fault: `It is not a deletion receipt${issue ? `: ${place ? `${place}: ` : ''}${issue.message}` : ''}.` }
}

/** The receipt in a file: JSON, or a PDF that contains exactly one. */
export function receiptIn(file: Uint8Array): { receipt: Receipt; isPdf: boolean } | { fault: string } {
  const read = (text: string) => {
    const value = parsedJson(text, z.unknown())
    return value === undefined ? { fault: 'It is not JSON.' } : asReceipt(value)
  }
  if (!isPdf(file)) {
    const found = read(Buffer.from(file).toString('utf8'))
    return 'fault' in found ? found : { ...found, isPdf: false }
  }
  const found = pdfAttachments(file).flatMap((text) => {
    const one = read(text)
    return 'fault' in one ? [] : [one.receipt]
  })
  const [receipt] = found
  if (receipt && found.length === 1) return { receipt, isPdf: true }
  return {
    fault:
      found.length > 1
        ? 'It is a PDF that carries several receipts, so it does not say which one it shows.'
        : 'It is a PDF that carries no receipt. One that was printed or saved anew lost it: take the file as the registry gave it, or the receipt as JSON.',
  }
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
          text: `The signature is good: it was made with the trusted key ${kid}, and nothing was changed since.`,
        },
  )
  if (
    trusted.url !== undefined &&
    !(URL.canParse(receipt.issuer) && registryName(receipt.issuer) === registryName(trusted.url))
  )
    findings.push({
      ok: false,
      text: `It names ${receipt.issuer} as its registry, and the keys are trusted for ${trusted.url}.`,
    })
  const left = remainingIn(receipt)
  if (receipt.stores.length === 0)
    findings.push({ ok: false, text: 'It names no store, so it says nothing about what was erased.' })
  for (const { holder, residue } of left)
    findings.push({ ok: false, text: `${holder} still held ${residue} when it was searched again.` })
  // The receipt's content only counts after its signature was verified.
  const held = legalHoldCountsIn(receipt)
  if (findings.every(({ ok }) => ok))
    findings.push({
      ok: true,
      text:
        held > 0
          ? `Of what was to go nothing is left: ${count(receipt.stores.length)} searched again after the erasure. ${held === 1 ? '1 record stays' : `${held} records stay`} for now, kept by a legal hold; when it ends the receipt is signed anew under its id.`
          : `Nothing is left: ${count(receipt.stores.length)} searched again after the erasure, and nothing was found.`,
    })
  return judged(findings, { receipt, ...(kid !== undefined && { kid }) })
}
