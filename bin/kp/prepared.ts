import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { RequestRefused } from '#lib/client/request.ts'
import {
  type bases,
  downloadExport,
  type ExportView,
  prepareExport,
  readExport,
} from '#lib/domains/exports/contract.ts'
import { Failure } from './failure.ts'
import { type CommandActor, type PersonOptions, withCommandActor } from './person.ts'
import { moveIntoPlace, outputOf, printedSize, receive, unfinishedBeside } from './receiving.ts'
import type { CommandSession } from './session.ts'

export interface PreparedOptions extends PersonOptions {
  output: string
  scope: (typeof bases)[number]
  force?: boolean
}

/** Polling interval in milliseconds. */
const every = 1_000

/** Waits until the registry has prepared the file. @throws when the registry gives up */
async function prepared({ call, terminal }: CommandActor, begun: ExportView): Promise<ExportView> {
  let view = begun
  while (view.state === 'queued' || view.state === 'running') {
    const { parts_done: done, parts_total: total, records } = view
    const so =
      view.state === 'queued' ? 'Waiting for other exports' : `Preparing: ${records.toLocaleString('en')} records`
    terminal.progress(so, total === 0 ? undefined : done / total)
    await delay(every)
    view = (await call(readExport, { params: { id: view.id } })).body.data
  }
  terminal.clear()
  if (view.state === 'ready') return view
  throw new Failure('not_prepared', 'The registry could not prepare the export. Nothing was lost.', {
    advice: 'Run the command again. If it fails again, contact the operator of the registry.',
  })
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file)) hash.update(piece)
  return hash.digest('hex')
}

/** Lets the registry prepare an export of a person's data, and downloads the verified file completely or not at all. */
export const exportPerson = (session: CommandSession, options: PreparedOptions): Promise<void> =>
  withCommandActor(session, options, async (asking) => {
    const { terminal, call, stream } = asking
    const file = outputOf(asking, options)
    const begun = (await call(prepareExport, { body: { scope: options.scope } })).body.data
    try {
      const { id, sha256, bytes: size, records } = await prepared(asking, begun)
      await unfinishedBeside(asking.invocation, file, async (unfinished) => {
        const response = await stream(downloadExport, { params: { id } })
        const share = (so: number) => (size === null || size === 0 ? undefined : so / size)
        const bytes = await receive(response, unfinished, 'zip', (so) =>
          terminal.progress(`Fetching: ${printedSize(so)}`, share(so)),
        )
        if (sha256 !== null && (await sha256Of(unfinished)) !== sha256)
          throw new Failure(
            'broken_off',
            `The download differs from the export that the registry prepared. ${options.output} was not written.`,
            {
              advice: 'Run the command again.',
            },
          )
        moveIntoPlace(unfinished, file, options.force ?? false)
        terminal.clear()
        terminal.document({ data: { export_id: id, scope: options.scope, file, bytes, records, sha256 } })
        terminal.line(
          terminal.good('✓ '),
          `${records.toLocaleString('en')} records, ${printedSize(bytes)}, in ${options.output} (zip, ${options.scope})`,
        )
        terminal.note('The file contains personal data. Only your user can read it.')
      })
    } catch (error) {
      if (error instanceof RequestRefused && error.problem.status === 404)
        throw new Failure('deleted', 'The export was deleted while the registry prepared it. Nothing was written.')
      throw error
    } finally {
      terminal.clear()
    }
  })
