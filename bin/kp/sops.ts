import { resolve } from 'node:path'
import type { Command } from 'commander'
import { pathFaults } from '#lib/domains/knowledge/skills/paths.ts'
import { approveSop, exportSopAsSkill, listSops } from '#lib/domains/knowledge/sops/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { isFolderName, writeSkill } from './skill-folder.ts'
import { skillFile } from './skill-source.ts'

interface ListOptions {
  domain?: string
  approved?: boolean
}
async function list(
  session: CommandSession,
  words: readonly string[],
  { domain, approved }: ListOptions,
): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(listSops, {
    query: {
      limit: 50,
      ...(words.length > 0 && { q: words.join(' ') }),
      ...(domain !== undefined && { domain }),
      ...(approved && { approved: 'true' as const }),
    },
  })
  terminal.document(body)
  terminal.table(
    ['ID', 'VERSION', 'APPROVED', 'QUALITY', 'NAME'],
    body.data.map(({ id, version, approved_version, quality_score, unit }) => [
      id,
      String(version),
      approved_version === null ? '–' : String(approved_version),
      quality_score.toFixed(2),
      unit['@type'] === 'ExpertSOP' ? unit.name : '',
    ]),
  )
  if (body.data.length === 0) terminal.note('None.')
}

async function approve(session: CommandSession, id: string, given: string | undefined): Promise<void> {
  const { terminal } = session
  if (given !== undefined && !/^[1-9]\d{0,8}$/.test(given))
    throw usageFailure(`--version-number must be the number of a version, not "${given}". Nothing was changed.`)
  const { body } = await session.call(approveSop, {
    params: { id },
    body: given === undefined ? {} : { version: Number(given) },
  })
  terminal.document(body)
  terminal.line(terminal.good('✓ '), `Version ${body.data.approved_version} of ${id} is approved.`)
}

async function exportSkill(
  session: CommandSession,
  id: string,
  options: { into: string; force?: boolean },
): Promise<void> {
  const { terminal } = session
  const { data } = (await session.call(exportSopAsSkill, { params: { id } })).body
  if (!isFolderName(data.name) || pathFaults(data.files.map(({ path }) => path)).length > 0)
    throw new Failure('unsafe_path', 'A name in this skill cannot be used as a file name. Nothing was written.')
  const folder = resolve(session.pathOf(options.into), data.name)
  const texts = [{ path: skillFile, content: data.skill_md }, ...data.files]
  writeSkill(folder, texts, { force: options.force ?? false })
  terminal.document({ data: { id, name: data.name, folder, files: texts.map(({ path }) => path) } })
  terminal.line(terminal.good('✓ '), `${data.name} is in ${folder}`)
}

/** SOPs: list, approve, as a skill. */
export function sopCommands(program: Command, begin: () => CommandSession): void {
  const sop = program
    .command('sop')
    .summary('list and approve expert procedures, export them as skills')
    .description('Procedures that experts wrote down.\n\nExample:\n  kp sop list')
  sop
    .command('list')
    .summary('search procedures, or list the newest')
    .description(
      'Searches the procedures that you can access. Without words, lists the newest.\n\nExample:\n  kp sop list backup',
    )
    .argument('[words...]', 'what to search for')
    .option('--domain <domain>', 'of this domain')
    .option('--approved', 'only approved procedures')
    .action((words: string[], options: ListOptions) => list(begin(), words, options))
  sop
    .command('approve')
    .summary('approve a procedure; for admins')
    .description(
      'Approves the current version, or the given version.\n\nExample:\n  kp sop approve kp:sop:6d961dbbe7e9',
    )
    .argument('<id>', 'the procedure’s id')
    .option('--version-number <number>', 'an earlier version')
    .action((id: string, options: { versionNumber?: string }) => approve(begin(), id, options.versionNumber))
  sop
    .command('export-skill')
    .summary('write a procedure as a skill')
    .description(
      'Writes a procedure as a SKILL.md into a folder of its own.\n\nExample:\n  kp sop export-skill kp:sop:6d961dbbe7e9',
    )
    .argument('<id>', 'the procedure’s id')
    .option('--into <folder>', 'the parent folder of the skill’s folder', 'skills')
    .option('--force', 'replace existing files')
    .action((id: string, options: { into: string; force?: boolean }) => exportSkill(begin(), id, options))
}
