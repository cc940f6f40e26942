import { projectReaderOf, readableProject, writableProject } from '#lib/domains/projects/access.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { claimPlaces } from './claims.ts'
import { listProvenance, reportProvenance } from './contract.ts'
import { type ConfiningPorts, confine, type ReportedPointer, store } from './pointers.ts'
import { lockSources, pointersBefore } from './repository.ts'

/** Use cases for the provenance ledger. It contains pointers and no content. */
export const projectProvenance = ({ db, ...ports }: Pick<ProjectPorts, 'db' | 'withCheckpoints'> & ConfiningPorts) => ({
  reportProvenance: mutation(reportProvenance, async (ctx, { params: { projectId }, body: { entries } }) => {
    const { tx, actor, now } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId)
    const ids = [...new Set(entries.map(({ source_id }) => source_id))]
    const rows = await lockSources(tx, { project: projectId, ids })
    // Clients may also use stored ids.
    const found = new Map(rows.flatMap((row) => [[row.id, row] as const, [shownId(row.id), row] as const]))
    const issues = entries.flatMap(({ source_id }, index): Issue[] =>
      found.has(source_id)
        ? []
        : [
            {
              path: ['entries', index, 'source_id'],
              message: `is not a message or document of this project: ${source_id}`,
            },
          ],
    )
    if (issues.length > 0)
      throw new Problem('invalid', {
        detail: `${issues.length} of ${entries.length} entries name no message or document of this project. No entry was stored.`,
        issues: issues.slice(0, 100),
      })
    if (rows.some(({ is_erasing }) => is_erasing))
      throw new Problem(
        'fenced',
        'Some of these messages or documents are being erased and accept no pointers. No entry was stored. Delete the data derived from them in its store.',
      )
    const reported = entries.flatMap(({ source_id, ...entry }, index): ReportedPointer[] => {
      const source = found.get(source_id)
      return source ? [{ ...entry, source: source.id, kind: source.kind, path: ['entries', index] }] : []
    })
    await confine(tx, actor, project, reported, ports)
    await claimPlaces(ports, tx, actor, projectId, reported)
    const stored = await store(tx, reported, { projectId, toldBy: actor.id, now })
    return {
      body: { data: { received: entries.length, stored, known: entries.length - stored } },
      resourceId: projectId,
      details: { received: entries.length, stored },
    }
  }),

  provenance: read(listProvenance, async (ctx, { params: { projectId }, query: { source_id, cursor, limit } }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const after = parseCursor(cursor)
    const rows = await pointersBefore(db, {
      ...{ project: projectId, source: source_id ?? null, limit: limit + 1 },
      ...{ at: after?.at ?? 'infinity', id: after?.id ?? '' },
    })
    const total = await db.prisma.provenance.count({
      where: {
        projectId,
        ...(source_id !== undefined && { sourceId: { in: [source_id, scopedId(projectId, source_id)] } }),
      },
    })
    const { shown, page } = pageOf(rows, limit, total, ({ at, id }) => ({ at, id }))
    return {
      resourceId: projectId,
      details: { count: shown.length },
      body: {
        data: shown.map((row) => ({ ...row, place: row.place === '' ? null : row.place, at: row.at.toISOString() })),
        ...page,
      },
    }
  }),
})
