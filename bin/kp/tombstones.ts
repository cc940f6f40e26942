import type { Command } from 'commander'
import { listTombstones } from '#lib/domains/erasure/contract.ts'
import { type ExportCopy, readCopies, writeCopies } from './copies.ts'
import type { CommandSession } from './session.ts'
import { removeFiles } from './skill-folder.ts'

const pageSize = 100
/** Interval in milliseconds after which a command that concerns copies checks again. */
const followedFor = 3_600_000

/** Reads new erasures of the registry and marks erased copies. Returns the copies of this registry. */
async function follow(session: CommandSession): Promise<ExportCopy[]> {
  const { folder, url } = session
  for (;;) {
    const { copies, followed } = readCopies(folder)
    const from = followed[url]?.cursor
    const { body } = await session.call(listTombstones, {
      query: { limit: pageSize, ...(from !== undefined && { cursor: from }) },
    })
    const erased = new Map(body.data.map(({ id, erased_at }) => [id, erased_at]))
    const marked = copies.map((copy) => {
      const at = copy.url === url ? erased.get(copy.id) : undefined
      return at === undefined ? copy : { ...copy, erased_at: at }
    })
    const cursor = body.next_cursor ?? from
    writeCopies(folder, {
      copies: marked,
      followed: { ...followed, ...(cursor !== undefined && { [url]: { cursor, at: new Date().toISOString() } }) },
    })
    if (body.data.length < pageSize) return marked.filter((copy) => copy.url === url)
  }
}

/** Warns about installed copies that were erased at their registry. Checks at most once an hour, and never makes a command fail. */
export async function remindOfErased(session: CommandSession): Promise<void> {
  const { folder, url, terminal, command } = session
  const { copies, followed } = readCopies(folder)
  if (!copies.some((copy) => copy.url === url)) return
  const last = Date.parse(followed[url]?.at ?? '')
  const known = copies.filter((copy) => copy.url === url)
  const own =
    Number.isNaN(last) || Date.now() - last > followedFor
      ? await follow(session).catch(() => known) // retried next time
      : known
  const erased = own.filter((copy) => copy.erased_at !== undefined)
  if (erased.length > 0)
    terminal.warning(
      `Erased at the registry, but still installed on this machine: ${erased.map(({ name }) => name).join(', ')}. Remove the copies: ${command('tombstones --apply')}`,
    )
}

async function tombstones(session: CommandSession, { apply = false }: { apply?: boolean }): Promise<void> {
  const { terminal, folder, command } = session
  const own = await follow(session)
  const erased = own.filter((copy) => copy.erased_at !== undefined)
  if (apply) {
    for (const copy of erased) removeFiles(copy.folder, copy.files)
    const gone = new Set(erased.map((copy) => copy.folder))
    const { copies, followed } = readCopies(folder)
    writeCopies(folder, { copies: copies.filter((copy) => !gone.has(copy.folder)), followed })
  }
  terminal.document({
    data: erased.map(({ id, name, folder: where, erased_at }) => ({
      id,
      name,
      folder: where,
      erased_at,
      removed: apply,
    })),
    copies: own.length,
  })
  for (const { id, name, folder: where, erased_at } of erased)
    terminal.line(
      apply ? terminal.good('✓ ') : terminal.warn('! '),
      `${name} (${id}) was erased on ${erased_at?.slice(0, 10)}; ${apply ? 'its files were removed from' : 'a copy is in'} ${where}`,
    )
  if (erased.length === 0)
    terminal.line(terminal.good('✓ '), `None of the ${own.length} copies on this machine was erased at ${session.url}.`)
  else if (!apply) terminal.note(`Remove them: ${command('tombstones --apply')}`)
}

/** Erasures at the registry: tombstones. */
export function tombstoneCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('tombstones')
    .summary('find copies of erased records on this machine')
    .description(
      'When a record is erased at the registry, its copies should be deleted too (GDPR art. 19). kp compares the skills that it installed with the registry’s list of erasures, and lists the erased ones. kp install and kp search do the same once an hour. With --apply, kp deletes the files that it wrote, even if they were changed. Other files in their folders remain.\n\nExample:\n  kp tombstones --apply',
    )
    .option('--apply', 'remove the copies')
    .action((options: { apply?: boolean }) => tombstones(begin(), options))
}
