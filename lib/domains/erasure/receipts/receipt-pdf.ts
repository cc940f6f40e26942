import { Readable } from 'node:stream'
import { decodeProtectedHeader } from 'jose'
import { onPage, type PdfPage, writtenPdf } from '#lib/kernel/pdf.ts'
import { erasedCounts, Receipt } from '#lib/kernel/receipt.ts'
import { stream, type UseCase } from '#lib/kernel/use-case.ts'
import { readReceiptPdf } from '../contract.ts'
import { legalHoldCountsIn } from '../rules.ts'
import type { PublicKey, Signer } from './signing.ts'

/** Returns the embedded file, byte for byte identical to the output of `kp receipts get --output`. */
export const receiptFile = (receipt: Receipt): string => `${JSON.stringify(receipt, null, 2)}\n`

const foundAgain = (residue: number, held: number): string => {
  if (residue > 0) return `${residue} were still found`
  return held > 0 ? 'nothing that should have been erased was found' : 'nothing was found'
}
const retainedByHolds = (held: number): string =>
  held === 1
    ? 'Not everything is erased: a legal hold retains 1 record for now. When the hold ends, the record is erased and the receipt is signed again under the same id.'
    : `Not everything is erased: a legal hold retains ${held} records for now. When the hold ends, they are erased and the receipt is signed again under the same id.`

/** The attachment with the public keys of the issuer. */
export const keysFileName = 'public-keys.json'

/** Returns the embedded public keys as text: a JWK Set. */
export const keysFile = (keys: readonly PublicKey[]): string => `${JSON.stringify({ keys }, null, 2)}\n`

/**
 * Renders the receipt as a PDF with all facts of the JSON, and attaches the JSON and, if given, the public keys as the text of a file. The
 * same arguments give the same bytes.
 */
export async function receiptPdf(receipt: Receipt, keys?: string): Promise<Uint8Array<ArrayBuffer>> {
  const attachments = [
    { name: `${receipt.receipt_id}.json`, text: receiptFile(receipt), description: 'The signed deletion receipt' },
    ...(keys === undefined
      ? []
      : [{ name: keysFileName, text: keys, description: 'The public keys that verify receipts' }]),
  ]
  const title = `Deletion receipt ${receipt.receipt_id}`
  return writtenPdf({ title, at: new Date(receipt.signed_at), attachments }, (page) =>
    writeReceipt(page, receipt, keys !== undefined),
  )
}

function writeReceipt({ title, heading, line, fact, raw }: PdfPage, receipt: Receipt, hasKeys: boolean): void {
  const name = `${receipt.receipt_id}.json`
  title('Deletion receipt')
  fact('Erased', receipt.deleted_id)
  if (receipt.subject_kind !== undefined) fact('Kind', receipt.subject_kind)
  if (receipt.part_kind !== undefined) fact('Kind', `${receipt.part_kind}, with all data derived from it`)
  fact('At', receipt.deleted_at)
  fact('Reason', receipt.reason)
  fact('Registry', receipt.issuer)
  fact('Receipt', receipt.receipt_id)
  fact('Signed at', receipt.signed_at)
  const held = legalHoldCountsIn(receipt)
  if (held > 0) line(retainedByHolds(held), 6)

  heading('What was erased')
  for (const one of receipt.stores) {
    const { store, holder, what, found, residue, verified_at } = one
    line(`${what} (${holder} in ${store})`, 6)
    line(
      `${found} found, ${erasedCounts(one)}. Searched again at ${verified_at}: ${foundAgain(residue, held)} (${residue} left).`,
      0,
    )
  }
  const { derived = [], exposed, remaining_mentions: mentions = [], not_searched: notSearched = [] } = receipt
  const { names_replaced: names } = receipt
  if (derived.length > 0 || exposed) heading('Derived data')
  for (const { store, cut, deleted, judged_again, retained } of derived)
    line(
      `${store}: erased words removed from ${cut}, ${deleted} deleted, ${judged_again} evaluated again without the erased texts, ${retained} retained because another author wrote the words.`,
      6,
    )
  if (exposed)
    line(
      `Texts that a model generated while an erased episode was in its context: ${exposed.matched} contained erased words or names and were blanked; ${exposed.unmatched} contained none, remain, and may paraphrase erased text.`,
      6,
    )
  if (mentions.length > 0) heading('Remaining mentions in texts of other authors')
  for (const { store, kind, field, count } of mentions) line(`${store}, ${kind}, ${field}: ${count}.`, 6)
  if (names !== undefined)
    line(
      `Names and email addresses in knowledge graph records of other people: ${names === null ? 'not replaced, because the request did not ask for it' : `replaced (places: ${names})`}.`,
      6,
    )
  if (notSearched.length > 0) heading('Not searched')
  for (const { store, what, count } of notSearched) line(`${store}: ${what}${count === null ? '' : ` (${count})`}.`, 6)
  // Pages of a receipt without this statement stay the same: `kp` compares them.
  const { complete_reading: reading } = receipt
  if (reading) heading('Complete reading')
  for (const one of reading?.stores ?? []) {
    const { store, holder, from, until, texts, characters, found, erased, left, explained, not_read, never_read } = one
    const length = characters === undefined ? '' : `, ${characters} characters`
    line(`${holder} in ${store}: read completely between ${from} and ${until} (${texts} texts${length}).`, 6)
    line(
      `Places with erased words: ${found}. Erased: ${erased}. Left, because others own them or they cannot be changed: ${left}. Explained by texts of other authors: ${explained}.`,
      0,
    )
    if (one.names)
      line(
        `Places with a name, or with words that may be one: ${one.names.found}. Erased: ${one.names.erased}. Remaining and listed for an admin: ${one.names.listed}.`,
        0,
      )
    for (const { reason, count } of not_read) line(`Not read, ${reason}: ${count}.`, 0)
    if (never_read && never_read.length > 0) line(`Never read as text: ${never_read.join(', ')}.`, 0)
  }
  heading('Retained data, with reason and period')
  for (const { what, ground, until } of receipt.retained) {
    line(what, 6)
    line(`Ground: ${ground}. Until: ${until ?? 'no end'}.`, 0)
  }
  heading('Physical remains')
  for (const { what, until } of receipt.physical) line(`${what}. Until: ${until ?? 'no fixed end'}.`, 6)

  heading('How to verify this receipt')
  line(
    `This page is a readable copy. The signed receipt is the attachment ${name} in this file. If you saved the registry’s signing keys earlier, KnowledgePulse verifies it offline: kp receipts verify <this file>. With any other tool: the signature (Ed25519, compact JWS) covers the attachment in its RFC 8785 form without the member "jws".${reading ? ' The member "complete_reading" has its own signature in the same form, and is also left out.' : ''}`,
  )
  if (hasKeys)
    line(
      `The attachment ${keysFileName} has the public keys of the registry at the time of this download. The author of a forged receipt can attach other keys: compare them with keys that you saved before the deletion.`,
    )
  // Not passed through onPage, because the example must show its own escape sequence.
  raw(
    'Characters missing from the fonts of this page are shown by their number, such as \\u{4E2D}. The attachment contains the original characters.',
  )
  fact('Signing key', String(decodeProtectedHeader(receipt.jws).kid))
  fact('Receipt format', `version ${receipt.version}`)
  raw('Signature:')
  raw(onPage(receipt.jws), { font: 'Courier', size: 8 })
}

/** Returns as a PDF the receipt that `read` returns as JSON, under the same access rules, with the public keys attached. */
export const receiptPdfReader = (read: UseCase, { keys }: Pick<Signer, 'keys'>) =>
  stream(readReceiptPdf, async (ctx, { params }) => {
    const { body } = await read.execute(ctx, { params, query: {}, headers: {}, body: undefined })
    const file = await receiptPdf(Receipt.parse(body), keysFile(await keys()))
    return {
      resourceId: params.id,
      headers: {
        'Content-Type': 'application/pdf',
        'Content-Length': String(file.byteLength),
        'Content-Disposition': `inline; filename="${params.id}.pdf"`,
      },
      body: Readable.from([file]),
    }
  })
