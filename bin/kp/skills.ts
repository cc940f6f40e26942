import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ResponseOf } from '#lib/client/request.ts'
import { listSkills, readSkill, type Skill } from '#lib/domains/knowledge/skills/contract.ts'
import { readCopies, rememberCopy } from './copies.ts'
import { Failure, usageFailure } from './failure.ts'
import { isSkillRecordId } from './knowledge.ts'
import type { CommandSession } from './session.ts'
import { isFolderName, skillFolderTextsOf, writeSkill } from './skill-folder.ts'
import { examined } from './skill-judgement.ts'
import { remindOfErased } from './tombstones.ts'

/** Maximum pages of a search for a name. */
const maxPages = 5

type Summary = ResponseOf<typeof listSkills>['body']['data'][number]

async function skillsNamed(session: CommandSession, name: string): Promise<Summary[]> {
  const named: Summary[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const { body } = await session.call(listSkills, {
      query: { q: name, limit: 100, ...(cursor !== undefined && { cursor }) },
    })
    named.push(...body.data.filter((skill) => skill.name === name))
    if (body.next_cursor === null) break
    cursor = body.next_cursor
  }
  return named
}

async function idOf(session: CommandSession, given: string): Promise<string> {
  if (isSkillRecordId(given)) return given
  const { command } = session
  const named = await skillsNamed(session, given)
  const [only, ...others] = named
  if (only && others.length === 0) return only.id
  if (!only)
    throw new Failure('not_found', `No skill that you can access is called "${given}". Nothing was written.`, {
      advice: `To search for it: ${command(`skills ${given}`)}`,
    })
  throw new Failure(
    'ambiguous',
    `${named.length} skills are called "${given}": ${named.map(({ id, agent_id }) => `${id} by ${agent_id}`).join(', ')}. Nothing was written.`,
    { advice: `Install one by its id: ${command(`install ${only.id}`)}` },
  )
}

/**
 * Shows capabilities that a skill uses without declaring, and asks before it is installed. Checked locally,
 * independent of the registry.
 */
async function acceptUndeclared({ terminal }: CommandSession, skill: Skill, accept: boolean): Promise<void> {
  const { prepared, faults } = examined({ skill_md: skill.skill_md, files: skill.files })
  if (!prepared)
    throw new Failure('content_rejected', `${skill.name} is not a valid skill: ${faults[0]}. Nothing was written.`)
  const undeclared = [...new Set([...skill.undeclared_tools, ...prepared.undeclaredTools])]
  if (undeclared.length === 0) return
  const tools = undeclared.join(', ')
  terminal.warning(`${skill.name} misrepresents itself: its text uses ${tools}, which its allowed-tools do not list.`)
  if (accept) return
  const refusal = (advice?: string) =>
    new Failure(
      'misrepresents',
      `${skill.name} uses tools that its allowed-tools do not list (${tools}). Nothing was written.`,
      advice === undefined ? {} : { advice },
    )
  if (!terminal.isInteractive) throw refusal('Read it first (kp get), then add --accept.')
  if (!/^y(?:es)?$/i.test(await terminal.ask('Install it anyway? [y/N]'))) throw refusal()
}

interface InstallOptions {
  into: string
  force?: boolean
  accept?: boolean
}
async function install(session: CommandSession, given: string, options: InstallOptions): Promise<void> {
  const { terminal, folder: configuration, url, command } = session
  await remindOfErased(session)
  const id = await idOf(session, given)
  const { data } = (await session.call(readSkill, { params: { id } })).body
  if (!isFolderName(data.name))
    throw new Failure('unsafe_path', 'The skill’s name cannot be used as a folder name. Nothing was written.')
  const folder = resolve(session.pathOf(options.into), data.name)
  const texts = skillFolderTextsOf(data)
  await acceptUndeclared(session, data, options.accept ?? false)
  const before = readCopies(configuration).copies.find((copy) => copy.folder === folder)
  writeSkill(folder, texts, { force: options.force ?? false, former: before?.files ?? [] })
  const files = texts.map(({ path }) => path)
  rememberCopy(configuration, { url, id, name: data.name, folder, files, installed_at: new Date().toISOString() })
  terminal.document({
    data: { id, name: data.name, version: data.version, folder, files, misrepresents: data.misrepresents },
  })
  terminal.line(
    terminal.good('✓ '),
    `${data.name}${data.version === null ? '' : ` ${data.version}`} by ${data.agent_id} is in ${folder} (${files.length} ${files.length === 1 ? 'file' : 'files'})`,
  )
  if (data.allowed_tools) terminal.line(`  tools   ${data.allowed_tools.join(', ')}`)
  if (data.license !== null) terminal.line(`  license ${data.license}`)
  terminal.note(`Read it before an agent uses it. To check whether it was erased: ${command('tombstones')}`)
}

interface ListOptions {
  tags?: string
  agent?: string
  limit?: string
}
async function list(
  session: CommandSession,
  words: readonly string[],
  { tags, agent, limit }: ListOptions,
): Promise<void> {
  const { terminal, command } = session
  const most = Number(limit ?? 20)
  if (!Number.isInteger(most) || most < 1 || most > 100)
    throw usageFailure(`--limit must be a whole number from 1 to 100, not "${limit}".`)
  const { body } = await session.call(listSkills, {
    query: {
      limit: most,
      ...(words.length > 0 && { q: words.join(' ') }),
      ...(tags !== undefined && { tags }),
      ...(agent !== undefined && { agent_id: agent }),
    },
  })
  terminal.document(body)
  for (const { from, to } of body.corrected ?? []) terminal.note(`Searched for "${to}" instead of "${from}".`)
  terminal.table(
    ['ID', 'NAME', 'QUALITY', 'BY', 'WHAT'],
    body.data.map((skill) => [
      skill.id,
      `${skill.misrepresents ? '! ' : ''}${skill.name}`,
      skill.quality_score.toFixed(2),
      skill.agent_id,
      [...skill.description].slice(0, 70).join(''),
    ]),
  )
  if (body.data.some((skill) => skill.misrepresents)) terminal.note('! uses tools that its allowed-tools do not list.')
  if (body.data.length === 0) terminal.note('None.')
  else terminal.note(`Install one: ${command('install <name or id>')}`)
}

/** Skills: skills, install. */
export function skillCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('skills')
    .summary('search skills, or list the newest')
    .description(
      'Searches the skills that you can access. Without words, lists the newest.\n\nExample:\n  kp skills generative art',
    )
    .argument('[words...]', 'what to search for')
    .option('--tags <list>', 'with all of these tags, separated by commas')
    .option('--agent <id>', 'by this agent')
    .option('--limit <count>', 'how many, up to 100 (default: 20)')
    .action((words: string[], options: ListOptions) => list(begin(), words, options))
  program
    .command('install')
    .summary('install a skill and its files into a folder')
    .description(
      'Installs a skill into its own folder and writes nowhere else. Before writing, kp rejects paths outside the folder, links in the path and names that differ only by case. Existing files are kept unless you add --force. If a skill uses tools that its allowed-tools do not list, kp warns and asks.\n\nExample:\n  kp install webapp-testing --into .claude/skills',
    )
    .argument('<skill>', 'the name, or the id if several skills have the name')
    .option('--into <folder>', 'the parent folder of the skill’s folder', 'skills')
    .option('--force', 'replace existing files')
    .option('--accept', 'install it even if it uses tools that its allowed-tools do not list')
    .action((skill: string, options: InstallOptions) => install(begin(), skill, options))
}
