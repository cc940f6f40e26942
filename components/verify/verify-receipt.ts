import type { SignatureFault } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { legalHoldCountsIn } from '#lib/domains/erasure/rules.ts'
import type { ReadingAttestation, Receipt } from '#lib/kernel/receipt.ts'

export type VerificationResult =
  | { kind: 'notReceipt' | 'noKeys' | 'keysUnreachable' }
  | { kind: 'holds'; kid: string; receipt: Receipt; left: number; held: number; isPinned: boolean }
  | { kind: 'attestationHolds'; kid: string; attestation: ReadingAttestation; isPinned: boolean }
  | { kind: SignatureFault; kid: string | undefined; isPinned: boolean }

/** The public keys of this installation; undefined if the request fails. */
async function publishedKeys(): Promise<string | undefined> {
  const response = await fetch('/.well-known/jwks.json', { cache: 'no-store' }).catch(() => undefined)
  return response?.ok ? response.text() : undefined
}

/**
 * Verifies a receipt, or the attestation of a complete reading, in this browser, without sending it anywhere. `pinned` is a key that the reader already has; otherwise it fetches the
 * keys of this installation. The signature code loads on demand.
 */
export async function verifyReceiptText(text: string, pinned: string | undefined): Promise<VerificationResult> {
  const {
    attestationInText,
    attestationType,
    checkSignature,
    keysInText,
    readingType,
    remainingIn: leftIn,
    receiptInText,
  } = await import('#lib/domains/erasure/receipts/receipt-rules.ts')
  const receipt = receiptInText(text)
  const attestation = receipt ? undefined : attestationInText(text)
  const signed = receipt ?? attestation
  if (!signed) return { kind: 'notReceipt' }
  const published = pinned === undefined ? await publishedKeys() : pinned
  if (published === undefined) return { kind: 'keysUnreachable' }
  const keys = await keysInText(published)
  const isPinned = pinned !== undefined
  if (keys.length === 0) return { kind: isPinned ? 'noKeys' : 'keysUnreachable' }
  const checked = await checkSignature(signed, keys, attestation && attestationType)
  if ('fault' in checked) return { kind: checked.fault, kid: checked.kid, isPinned }
  if (!receipt) {
    if (!attestation) return { kind: 'notReceipt' }
    return { kind: 'attestationHolds', kid: checked.kid, attestation, isPinned }
  }
  // The second statement has its own signature, and must belong to this receipt.
  const { complete_reading: reading } = receipt
  if (reading) {
    const read = await checkSignature(reading, keys, readingType)
    if ('fault' in read) return { kind: read.fault, kid: read.kid, isPinned }
    if (reading.receipt_id !== receipt.receipt_id || reading.issuer !== receipt.issuer)
      return { kind: 'changed', kid: read.kid, isPinned }
  }
  const left = leftIn(receipt).reduce((sum, { residue }) => sum + residue, 0)
  return { kind: 'holds', kid: checked.kid, receipt, left, held: legalHoldCountsIn(receipt), isPinned }
}
