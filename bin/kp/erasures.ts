import type { Command } from 'commander'
import { operator } from '#lib/operator.ts'
import { enterInstallation, withInstallation } from './installation.ts'
import type { Session } from './session.ts'

interface Erasure {
  receipt_id: string
  scope: Record<string, string>
  at: string
  committed_at: string | null
  items: number
}

async function list(session: Session): Promise<void> {
  const { terminal } = session
  enterInstallation()
  const { app } = await import('#lib/app.ts')
  const erasures = new Map<string, Erasure>()
  for await (const row of app.ledger.read()) {
    if (row.kind === 'intent') {
      const items = Object.values(row.plan).reduce((sum, ids) => sum + ids.length, 0)
      erasures.set(row.id, { receipt_id: row.id, scope: row.scope, at: row.at, committed_at: null, items })
    } else {
      const intent = erasures.get(row.id)
      if (intent) intent.committed_at ??= row.at
    }
  }
  await app.close()
  const rows = [...erasures.values()]
  terminal.document({ data: rows, total: rows.length })
  terminal.table(
    ['TIME', 'RECEIPT', 'WHAT', 'ITEMS', 'CARRIED OUT'],
    rows.map((row) => [
      row.at,
      row.receipt_id,
      Object.values(row.scope).join(' '),
      String(row.items),
      row.committed_at ?? 'no: begun and never committed',
    ]),
  )
  if (rows.length === 0) terminal.note('The ledger is empty: nothing was erased here.')
}

async function replay(session: Session): Promise<void> {
  const { terminal } = session
  const { committed, erased, reinstated, damaged, receipts } = await withInstallation((app) =>
    operator(app).replayErasures(),
  )
  terminal.document({ data: { committed, erased, reinstated, damaged, receipts } })
  terminal.line(
    terminal.good('✓ '),
    `${committed} erasures are in the ledger; ${erased === 0 ? 'none of them had come back' : `${erased} had come back and were erased again`}.`,
  )
  if (reinstated > 0)
    terminal.line(
      `${reinstated} receipts that the restored database did not know are there again, and their ids stay taken.`,
    )
  if (damaged > 0)
    terminal.note(`${damaged} lines of the ledger do not check: a crash cut them short, or they were changed.`)
  for (const receipt of receipts) terminal.line(`  ${receipt}`)
}

/** The erasure ledger, on the installation's machine. */
export function erasureCommands(program: Command, begin: () => Session): void {
  const erasures = program
    .command('erasures')
    .summary('read the erasure ledger; erase again after a restore')
    .description(
      'The ledger of erasures lies outside the database, so that a restored backup cannot forget one. On the installation’s own machine.\n\nExample:\n  kp erasures list',
    )
  erasures
    .command('list')
    .summary('show every erasure that the ledger knows')
    .description(
      'Shows each erasure with the receipt’s id, and whether it was carried out.\n\nExample:\n  kp erasures list --json',
    )
    .action(() => list(begin()))
  erasures
    .command('replay')
    .summary('erase again what a restored backup brought back')
    .description(
      'Run it after restoring a backup: what was erased after the backup was made is erased again, with a receipt each. What was stored after its erasure stays. Safe to repeat.\n\nExample:\n  kp erasures replay',
    )
    .action(() => replay(begin()))
}
