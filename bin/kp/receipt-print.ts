import { erasedCounts, type Receipt } from '#lib/kernel/receipt.ts'
import type { ReceiptFinding } from './receipt-check.ts'
import type { Terminal } from './terminal.ts'

const day = (at: string): string => at.slice(0, 10)

/** Prints the content of a receipt. */
export function printReceipt(terminal: Terminal, receipt: Receipt): void {
  terminal.line(terminal.bold(`Receipt ${receipt.receipt_id}`), ` of ${receipt.issuer}`)
  const named = receipt.part_kind ?? receipt.subject_kind
  const kind = named === undefined ? '' : `${named} `
  terminal.line(`  Erased ${kind}${receipt.deleted_id} at ${receipt.deleted_at} (${receipt.reason})`)
  for (const one of receipt.stores) {
    const { store, what, found, residue, verified_at } = one
    terminal.line(
      `  ${store}: ${what}: ${found} found, ${erasedCounts(one)}, ${residue} remained when searched again at ${verified_at}`,
    )
  }
  for (const { what, ground, until } of receipt.retained)
    terminal.line(
      terminal.dim(
        `  Retained ${until === null ? 'with no fixed end' : `until ${day(until)}`}: ${what}. Ground: ${ground}`,
      ),
    )
  for (const { what, until } of receipt.physical)
    terminal.line(terminal.dim(`  Remains physically${until === null ? '' : ` until ${day(until)}`}: ${what}`))
}

export function printFindings(terminal: Terminal, findings: readonly ReceiptFinding[]): void {
  for (const { ok, text } of findings) terminal.line(ok ? terminal.good('✓ ') : terminal.bad('✗ '), text)
}
