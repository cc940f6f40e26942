import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { z } from 'zod'
import { readReceipt } from '#lib/domains/erasure/contract.ts'
import { receiptPdf } from '#lib/domains/erasure/receipts/receipt-pdf.ts'
import { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { parsedJson } from './config.ts'
import { saveReceipt } from './erasing.ts'
import { exitCodes, Failure, usageFailure } from './failure.ts'
import { readPin } from './pins.ts'
import {
  asReceipt,
  attestationIn,
  checkAttestation,
  checkReceipt,
  receiptIn,
  type TrustedKeys,
} from './receipt-check.ts'
import { printFindings, printReceipt } from './receipt-print.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'
import { trust } from './trust.ts'

const KeySet = z.object({ keys: z.array(PublicKey).min(1) })

async function get(session: CommandSession, id: string, output: string | undefined): Promise<void> {
  const { terminal, command } = session
  const { body } = await session.call(readReceipt, { params: { id } })
  const read = asReceipt(body)
  if ('fault' in read) throw new Failure('bad_receipt', `kp cannot read the registry's answer. ${read.fault}`)
  if (output !== undefined) saveReceipt(session.pathOf(output), read.receipt)
  terminal.document(read.receipt)
  printReceipt(terminal, read.receipt)
  if (output !== undefined) terminal.note(`Written to ${output}. Check it: ${command(`receipts verify ${output}`)}`)
}

/** Keys from before the receipt: the given file, otherwise the pinned keys of the receipt's registry. */
function keysFor(session: CommandSession, receipt: Pick<Receipt, 'issuer'>, keysFile: string | undefined): TrustedKeys {
  const { command } = session
  if (keysFile !== undefined) {
    const set = parsedJson(readFileSync(session.pathOf(keysFile), 'utf8'), KeySet)
    if (!set) throw usageFailure(`${keysFile} is not a set of signing keys (JWK Set, RFC 7517).`)
    return set
  }
  if (!URL.canParse(receipt.issuer))
    throw new Failure('bad_receipt', 'The receipt names no issuing registry, so kp has no keys to check it with.')
  const pin = readPin(session.folder, receipt.issuer)
  if (pin) return { keys: pin.keys, url: pin.url }
  throw new Failure(
    'not_pinned',
    `No signing keys are pinned for ${receipt.issuer}, so kp cannot check the receipt. A key that comes with a receipt proves nothing.`,
    {
      advice: `If you trust that address: ${command(`receipts trust ${receipt.issuer}`)}. Or use a key file that you already have: --keys jwks.json`,
    },
  )
}

async function verify(session: CommandSession, file: string, keysFile: string | undefined): Promise<void> {
  const { invocation, terminal } = session
  const content =
    file === '-'
      ? Buffer.from(await readStdin(invocation, 'A receipt'))
      : new Uint8Array(readFileSync(session.pathOf(file)))
  const attestation = attestationIn(content)
  if (attestation) {
    const { ok, findings, kid } = await checkAttestation(attestation, keysFor(session, attestation, keysFile))
    const { reading_id, issuer } = attestation
    terminal.document({ data: { valid: ok, reading_id, issuer, kid: kid ?? null, findings } })
    printFindings(terminal, findings)
    terminal.line(ok ? terminal.good('✓ The attestation is valid.') : terminal.bad('✗ The attestation is not valid.'))
    invocation.setExitCode(ok ? exitCodes.done : exitCodes.failed)
    return
  }
  const read = receiptIn(content)
  if ('fault' in read) {
    terminal.document({ data: { valid: false, findings: [{ ok: false, text: read.fault }] } })
    printFindings(terminal, [{ ok: false, text: read.fault }])
    invocation.setExitCode(exitCodes.failed)
    return
  }
  const { receipt } = read
  const { ok, findings, kid } = await checkReceipt(receipt, keysFor(session, receipt, keysFile))
  // A PDF could contain a valid receipt and show other content.
  const showsIt = read.isPdf ? Buffer.from(await receiptPdf(receipt, read.keys)).equals(content) : undefined
  terminal.document({
    data: {
      valid: ok,
      receipt_id: receipt.receipt_id,
      issuer: receipt.issuer,
      deleted_id: receipt.deleted_id,
      kid: kid ?? null,
      findings,
      ...(showsIt !== undefined && { pages_are_ours: showsIt }),
    },
  })
  printFindings(terminal, findings)
  if (ok) printReceipt(terminal, receipt)
  if (showsIt !== undefined)
    terminal.note(
      showsIt
        ? 'The pages of the PDF match the receipt.'
        : 'kp checked the receipt inside the PDF, which is printed above. The pages of the PDF differ from it. Rely on the receipt, not on the pages.',
    )
  terminal.line(ok ? terminal.good('✓ The receipt is valid.') : terminal.bad('✗ The receipt is not valid.'))
  invocation.setExitCode(ok ? exitCodes.done : exitCodes.failed)
}

async function trustKeys(session: CommandSession, replace: boolean): Promise<void> {
  const { terminal, url } = session
  const { verdict, keys, added } = await trust(session, replace)
  terminal.document({ data: { url, verdict, kids: keys.map(({ kid }) => kid), added: added.map(({ kid }) => kid) } })
  const said = {
    pinned: `Pinned the keys that ${url} signs receipts with.`,
    extended: `${url} has rotated its keys. The new keys are now pinned in addition to the old keys.`,
    same: `Nothing changed: the keys of ${url} equal the pinned keys.`,
    altered: '',
    vanished: '',
  }
  terminal.line(terminal.good('✓ '), said[verdict])
  for (const { kid } of keys)
    terminal.line(`  ${kid}${verdict === 'extended' && added.some((one) => one.kid === kid) ? '  (new)' : ''}`)
  if (verdict === 'pinned')
    terminal.note('If possible, compare the keys with the operator of the registry through another channel.')
}

/** Deletion receipts: get, verify, trust. */
export function receiptCommands(program: Command, begin: (url?: string) => CommandSession): void {
  const receipts = program
    .command('receipts')
    .summary('fetch and check deletion receipts')
    .description(
      'Deletion receipts are signed. kp checks them offline with keys that were pinned before.\n\nExample:\n  kp receipts verify receipt.json',
    )
  receipts
    .command('get')
    .summary('fetch a receipt by its id')
    .description(
      'Fetches a receipt. Anyone who knows its id can read it. No token is required.\n\nExample:\n  kp receipts get rcpt_0123456789abcdefABCDEF --output receipt.json',
    )
    .argument('<receipt-id>', 'such as rcpt_…')
    .option('--output <file>', 'write the receipt to this file, which must not exist yet')
    .action((id: string, options: { output?: string }) => get(begin(), id, options.output))
  receipts
    .command('verify')
    .summary('check a receipt, offline')
    .description(
      'Checks offline that a pinned key of the named registry signed the receipt, that it has not changed, and that no data remains. Exit code 0 if the receipt is valid, else 1.\n\nExample:\n  kp receipts verify receipt.json\n  kp receipts verify receipt.pdf --keys jwks.json',
    )
    .argument(
      '<file>',
      'the receipt as JSON or PDF, the attestation of a complete reading, or - for JSON from standard input',
    )
    .option('--keys <file>', 'check with the keys in this file (JWK Set) instead of the pinned ones')
    .action((file: string, options: { keys?: string }) => verify(begin(), file, options.keys))
  receipts
    .command('trust')
    .summary('pin the keys that a registry signs with')
    .description(
      'Pins a registry’s signing keys on this machine. If keys are already pinned, it reports changes. Additional keys are accepted. Different keys under known ids, or a set without any known key, are rejected.\n\nExample:\n  kp receipts trust https://registry.example.org',
    )
    .argument('[url]', 'the registry (default: the one you are signed in to)')
    .option('--replace', 'replace all pinned keys with the current keys')
    .action((url: string | undefined, options: { replace?: boolean }) =>
      trustKeys(begin(url), options.replace ?? false),
    )
}
