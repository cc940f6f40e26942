import type { Command } from 'commander'
import { personalWarnings, scanFields, secretIn } from '#lib/domains/pii/fields.ts'
import { instructionWarnings } from '#lib/domains/sanitizer/contract.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitizeFields } from '#lib/domains/sanitizer/sanitizer.ts'
import { exitCodes } from './failure.ts'
import type { CommandSession } from './session.ts'
import { examined } from './skill-judgement.ts'
import { checkUnit } from './unit-judgement.ts'
import { type SourceItem, unitsOf } from './unit-source.ts'

interface ValidationResult {
  source: string
  kind: 'unit' | 'skill'
  valid: boolean
  faults: string[]
  warnings: string[]
}

/** Checks a unit locally as the registry would. */
function judgeUnit(source: string, value: unknown): ValidationResult {
  const verdict = (faults: string[], warnings: string[] = []): ValidationResult => ({
    source,
    kind: 'unit',
    valid: faults.length === 0,
    faults,
    warnings,
  })
  const judged = checkUnit(value)
  if ('issues' in judged)
    return verdict(judged.issues.map(({ path, message }) => `${path.join('.') || 'the unit'}: ${message}`))
  try {
    const { value: clean, changes, encoded, quoted } = sanitizeFields(judged.unit)
    const found = scanFields(clean)
    const secret = secretIn(found)
    if (secret) throw secret
    return verdict(
      [],
      [
        ...changes.map(({ path }) => `${path.join('.')}: the registry will remove markup or normalize characters`),
        ...instructionWarnings(encoded, quoted),
        ...personalWarnings(found),
      ],
    )
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { path, line, column, stage, rule } = error
    return verdict([
      `${(path ?? []).join('.')}: line ${line}, column ${column} is rejected by the sanitizer (${stage}: ${rule})`,
    ])
  }
}

function decisionOf(found: SourceItem): ValidationResult | undefined {
  const { source } = found
  if ('skipped' in found) return undefined
  if ('fault' in found) return { source, kind: 'unit', valid: false, faults: [found.fault], warnings: [] }
  if ('value' in found) return judgeUnit(source, found.value)
  const { prepared, faults, warnings } = examined(found.skill)
  return { source, kind: 'skill', valid: prepared !== undefined, faults, warnings }
}

async function validate(session: CommandSession, paths: readonly string[]): Promise<void> {
  const { terminal } = session
  const verdicts: ValidationResult[] = []
  for await (const found of unitsOf(session.invocation, paths.map(session.pathOf))) {
    const verdict = decisionOf(found)
    if (!verdict) continue
    verdicts.push(verdict)
    const { source, valid, faults, warnings } = verdict
    if (valid) terminal.line(terminal.good('✓ '), source)
    for (const fault of faults) terminal.line(terminal.bad('✗ '), `${source}: ${fault}`)
    for (const warning of warnings) terminal.line(terminal.warn('  ! '), warning)
  }
  const invalid = verdicts.filter(({ valid }) => !valid).length
  terminal.document({ data: { valid: verdicts.length - invalid, invalid, items: verdicts } })
  if (verdicts.length > 1) terminal.note(`${verdicts.length - invalid} valid, ${invalid} invalid.`)
  if (invalid > 0) session.invocation.setExitCode(exitCodes.failed)
}

/** Checks of files: validate. */
export function validatingCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('validate')
    .summary('check units and skills in files; nothing is sent')
    .description(
      'Checks units and skills on this machine with the rules of the registry. Reports each error with its line or field, and what the sanitizer would reject or change. Accepts the same files and folders as kp contribute.\n\nExample:\n  kp validate docs/examples',
    )
    .argument('<paths...>', 'files or folders, or - for standard input')
    .action((paths: string[]) => validate(begin(), paths))
}
